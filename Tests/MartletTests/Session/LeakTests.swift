// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import Testing
import TransferTesting

// Ten thousand sessions take seconds, and many of them on a busy machine.
@Suite("What stays behind", .timeLimit(.minutes(5)))
struct LeakTests {
    private struct Weak: Sendable {
        weak let object: (any AnyObject & Sendable)?
    }

    @Test("10,000 sessions, tasks and delegates created and dropped leave no object, descriptor or thread")
    func nothing() async {
        // In a separate process: the other tests open and close connections at the same time.
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
            let url = server.text("a")
            let configuration = Harness.configuration(directory)
            _ = try await LeakTests.round(500, configuration, url)
            await server.waitForOpenConnections(0)
            let before = (Files.entries(of: "/proc/self/fd").count, Files.entries(of: "/proc/self/task").count)
            let left = try await LeakTests.round(10_000, configuration, url)
            await server.waitForOpenConnections(0)
            let after = (Files.entries(of: "/proc/self/fd").count, Files.entries(of: "/proc/self/task").count)
            #expect(left == 0)
            #expect(after.0 <= before.0 + 4, "descriptors: \(before.0) before, \(after.0) after")
            #expect(after.1 <= before.1 + 8, "threads: \(before.1) before, \(after.1) after")
        }
    }

    /// Makes and drops sessions, of which every tenth runs tasks.
    ///
    /// - Returns: How many objects are still there once everything should be gone.
    private static func round(_ count: Int, _ configuration: SessionConfiguration, _ url: String) async throws -> Int {
        var references: [Weak] = []
        for index in 0..<count {
            let session = try TransferSession(configuration: configuration)
            let observer = Observer()
            session.addDelegate(observer)
            let data = try session.dataTask(for: url)
            let download = try session.downloadTask(for: url)
            let dropped = try session.dataTask(for: url)
            data.onCompletion { _ in }
            let events = download.events
            if index % 10 == 0 {
                data.resume()
                download.resume()
                _ = try await data.value
                _ = try? await download.value
                await observer.waitForEnds(2)
            } else if index % 10 == 1 {
                data.resume()
                data.cancel()
            }
            withExtendedLifetime(events) {}
            references += [
                Weak(object: session), Weak(object: observer), Weak(object: data), Weak(object: download),
                Weak(object: dropped),
            ]
        }
        // The last references are released on other threads, just after the last calls.
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(60) {
            references.removeAll { $0.object == nil }
            if references.isEmpty { break }
            await Task.yield()
        }
        return references.count
    }
}
