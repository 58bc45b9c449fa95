// SPDX-License-Identifier: Apache-2.0
import Control
import Martlet
import QueueStore
import Testing
import TransferTesting

@testable import Daemon

/// Transfers whose URLs are replaced, such as signed links that expire.
@Suite("URLs that are replaced", .timeLimit(.minutes(2)))
struct CoreURLTests {
    /// How the transfer stands when its URLs are replaced.
    enum Standing: CaseIterable, Sendable {
        case running
        case paused
        case failed
    }

    /// The part in which the new URL differs from the old one.
    enum Difference: CaseIterable, Sendable {
        /// The host; the last segment of the path is the same.
        case host
        /// The last segment of the path.
        case name
        /// The query; the name is in `Content-Disposition`.
        case disposition

        var old: String {
            switch self {
            case .host, .name: "a/file.bin?signature=1"
            case .disposition: "get?signature=1"
            }
        }

        var new: String {
            switch self {
            case .host: "b/file.bin?signature=2"
            case .name: "b/3f9a?signature=2"
            case .disposition: "get?signature=2"
            }
        }

        var fields: [(String, String)] {
            self == .disposition ? [("Content-Disposition", "attachment; filename=file.bin")] : []
        }
    }

    private static let length: Int64 = 3 << 20
    private static let received: Int64 = 1_500_000

    /// A server whose first response breaks off, or stalls, and whose later ones are 403: its link has expired.
    private static func expiring(_ served: ServedFile, stalls: Bool) async throws -> ScriptedServer {
        var first = served
        first.interruption = stalls ? .stallAfter(Self.received) : .closeAfter(Self.received)
        let file = first
        return try await ScriptedServer.start { request in
            request.requestIndex == 0 ? .file(file, request) : .response(403, text: "expired")
        }
    }

    @Test("A download continues from its bytes with another URL of the same file", arguments: Standing.allCases)
    func kept(standing: Standing) async throws {
        for difference in Difference.allCases { try await self.keep(standing, difference) }
    }

    private func keep(_ standing: Standing, _ difference: Difference) async throws {
        var file = ServedFile(length: Self.length)
        file.fields = difference.fields
        let served = file
        let old = try await Self.expiring(served, stalls: standing != .failed)
        let new = try await ScriptedServer.start { .file(served, $0) }
        let harness = try await CoreHarness()
        let id = try await harness.add(old.text(difference.old), ["split": "1"])
        switch standing {
        case .running: try await harness.events.wait(for: 1_000_000, of: id)
        case .paused:
            try await harness.events.wait(for: 1_000_000, of: id)
            try await harness.core.perform(.pause, on: .ids([id]))
        case .failed: try await harness.events.wait("failed \(id) 22")
        }
        try await harness.core.replaceURLs(id, with: [new.text(difference.new)])
        switch standing {
        case .running: break
        case .paused: try await harness.core.perform(.resume, on: .ids([id]))
        case .failed: try await harness.core.perform(.retry, on: .ids([id]))
        }
        try await harness.events.wait("finished \(id)")
        let record = try await harness.core.record(id)
        #expect(record.path == harness.path("file.bin") && record.urls == [new.text(difference.new)])
        #expect(file.pattern.difference(fromFileAt: harness.path("file.bin"), length: Self.length) == nil)
        #expect(TemporaryDirectory.entries(of: harness.directory.path("files")) == ["file.bin"])
        // At most what the first connection had in flight, and the bytes that are compared, are sent twice.
        #expect(new.requests.first?["Range"] != nil, "\(standing) \(difference)")
        #expect(new.bodyBytesSent <= Self.length - 1_000_000 + 65_536, "\(standing) \(difference)")
        await harness.stop()
    }

    @Test("A name of the user's, and one under which nothing is there yet, stay as they are")
    func names() async throws {
        let gate = Gate()
        let server = try await CoreRunningTests.gated(gate)
        let harness = try await CoreHarness()
        let waiting = try await harness.add(server.text("one"))
        let named = try await harness.add(server.text("two"), ["out": "name"])
        try await harness.core.replaceURLs(waiting, with: [server.text("three")])
        try await harness.core.replaceURLs(named, with: [server.text("four")])
        gate.open()
        for id in [waiting, named] { try await harness.events.wait("finished \(id)") }
        #expect(try await harness.core.record(waiting).path == harness.path("three"))
        #expect(try await harness.core.record(waiting).options[.out] == nil)
        #expect(try await harness.core.record(named).path == harness.path("name"))
        await harness.stop()
    }

    @Test("The name of a partial file is kept over restarts of the daemon, and so is the new URL")
    func restart() async throws {
        let file = ServedFile(length: Self.length)
        let old = try await Self.expiring(file, stalls: true)
        let new = try await ScriptedServer.start { .file(file, $0) }
        let first = try await CoreHarness()
        let id = try await first.add(old.text("file.bin"), ["split": "1"])
        try await first.events.wait(for: 1_000_000, of: id)
        try await first.core.perform(.pause, on: .ids([id]))
        await first.stop()
        let second = try await CoreHarness(first.directory)
        try await second.core.replaceURLs(id, with: [new.text("other")])
        #expect(try await second.core.record(id).options[.out] == "file.bin")
        await second.stop()
        let third = try await CoreHarness(first.directory)
        try await third.core.perform(.resume, on: .ids([id]))
        try await third.events.wait("finished \(id)")
        #expect(file.pattern.difference(fromFileAt: third.path("file.bin"), length: Self.length) == nil)
        #expect(new.bodyBytesSent <= Self.length - 1_000_000 + 65_536)
        await third.stop()
    }
}
