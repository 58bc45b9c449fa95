// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing
import FileStorage
import HTTPTransport
import TransferCore
@testable import TransferEngine
import TransferTesting

/// Interruptions that come at the very moment at which a file is whole.
@Suite(.timeLimit(.minutes(5)))
struct InterruptionRaceTests {
    @Test("A small file that is cancelled as its last byte comes ends once, as one thing or the other")
    func cancelAtTheEnd() async throws {
        let file = ServedFile(length: 3000)
        let server = try await serve(Served(file))
        let directory = try TemporaryDirectory()
        var configuration = TransferEngine.Configuration()
        configuration.concurrentTransfers = 32
        configuration.releasesNames = true
        let engine = try LiveEngine.make(configuration, store: DiskStore())
        let recorder = EventRecorder()
        engine.observe(.ends) { recorder.record($0) }
        // The observer of a response cancels a little later: about when the body ends.
        engine.observe(.responses) { [weak engine] event in
            guard case .response = event.kind, let engine, let id = event.id else { return }
            engine.pool.run {
                for _ in 0..<(id.rawValue % 97) { _ = engine.state(of: id) }
                engine.cancel(id, keeping: true)
            }
        }
        let ids = try (0..<3000)
            .map { number in
                var options = DownloadOptions()
                options.directory = directory.path
                options.durable = number % 2 == 0
                return try engine.add(
                    DownloadRequest([server.url("\(number)")], name: "file\(number)", options: options)
                )
            }
        engine.close()
        engine.start()
        await engine.waitUntilDrained()
        await engine.stop()
        var finished = 0
        for id in ids {
            let ends = recorder.events(of: id)
            #expect(ends.count == 1)
            if case .finished = ends.first?.kind { finished += 1 }
        }
        #expect(directory.entries().count == finished)
        await engine.transport.shutdown()
        await server.stop()
    }
}
