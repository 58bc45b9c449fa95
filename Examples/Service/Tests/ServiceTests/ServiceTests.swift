// SPDX-License-Identifier: Apache-2.0
import Foundation
import Hummingbird
import HummingbirdTesting
import InMemoryTracing
import Logging
import Metrics
import MetricsTestKit
import Synchronization
import Testing
import Tracing

@testable import Service

/// The backends can be bootstrapped once in a process: one test has them.
struct ServiceTests {
    private final class Gate: Sendable { let isOpen = Atomic(false) }

    @Test("A job that a later run ends is counted, and has one span, whose parent is the request")
    func countersAndSpans() async throws {
        let (tracer, metrics) = (InMemoryTracer(), TestMetrics())
        InstrumentationSystem.bootstrap(tracer)
        MetricsSystem.bootstrap(metrics)
        let directory = FileManager.default.temporaryDirectory.path + "/service-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let gate = Gate()
        let files = Router()
        files.get("**") { request, _ in
            while !gate.isOpen.load(ordering: .acquiring) { try await Task.sleep(for: .milliseconds(5)) }
            guard request.uri.path == "/file" else { throw HTTPError(.notFound) }
            return String(repeating: "a", count: 1000)
        }
        let server = Application(router: files)
        try await server.test(.live) { server in
            let port = try #require(server.port)
            let begin = DefaultTracerClock.now.nanosecondsSinceEpoch
            let first = try Jobs(directory: directory, logger: Logger(label: "first"))
            let service = Program.server(first, port: 0)
            try await service.test(.router) { client in
                let body = ByteBuffer(string: "http://127.0.0.1:\(port)/file\nhttp://127.0.0.1:\(port)/missing")
                try await client.execute(uri: "/jobs", method: .post, body: body) { #expect($0.status == .accepted) }
            }
            await first.list.close()
            let end = DefaultTracerClock.now.nanosecondsSinceEpoch
            #expect(tracer.finishedSpans.map(\.operationName) == ["/jobs"])

            gate.isOpen.store(true, ordering: .releasing)
            let second = try Jobs(directory: directory, logger: Logger(label: "second"))
            #expect(try second.list.resumeInterrupted().count == 2)
            while tracer.finishedSpans.count < 3 { try await Task.sleep(for: .milliseconds(5)) }
            await second.list.close()
            let request = try #require(tracer.finishedSpans.first)
            let spans = tracer.finishedSpans.dropFirst()
            #expect(spans.map(\.operationName) == ["job", "job"])
            #expect(spans.allSatisfy { $0.traceID == request.traceID && $0.parentSpanID == request.spanID })
            #expect(spans.allSatisfy { (begin...end).contains($0.startInstant.nanosecondsSinceEpoch) })
            #expect(spans.allSatisfy { $0.endInstant.nanosecondsSinceEpoch >= end })
            let finished = try #require(spans.first { $0.attributes.get("job.status") == "finished" })
            #expect(finished.attributes.get("url.full") == .string("http://127.0.0.1:\(port)/file"))
            #expect(finished.attributes.get("job.bytes") == 1000)
            #expect(finished.status == nil)
            let failed = try #require(spans.first { $0.attributes.get("job.status") == "failed" })
            #expect(failed.status?.code == .error)
        }
        #expect(metrics.counterTotal(label: "martlet.tasks", dimensions: [("outcome", "finished")]) == 1)
        #expect(metrics.counterTotal(label: "martlet.tasks", dimensions: [("outcome", "failed")]) == 1)
        #expect(metrics.counterTotal(label: "martlet.bytes.received") == 1000)
    }
}
