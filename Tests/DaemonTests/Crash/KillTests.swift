// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import Daemon

/// The daemon is killed while it is given transfers, and counted against a book of our own.
///
/// Scripts/kill-daemon does this longer, with more kinds of changes.
@Suite(.timeLimit(.minutes(2)))
struct KillTests {
    /// What the server has under a number: nothing that a file could be recognised by, and one in seven has a journal.
    private static func file(_ number: Int) -> ServedFile {
        let length: Int64 = number % 7 == 3 ? 1_500_000 : Int64(number % 50) * 997
        var file = ServedFile(TestPattern(seed: UInt64(number) + 1), length: length, entityTag: nil)
        file.lastModified = nil
        return file
    }

    private static func entries(_ numbers: Range<Int>, _ server: ScriptedServer, isPaused: Bool) -> [NewTransfer] {
        numbers.map { number in
            var options = TransferOptions()
            options[.out] = "file\(number)"
            return NewTransfer(id: .random(), urls: [server.text("\(number)")], options: options, isPaused: isPaused)
        }
    }

    @Test("Nothing that was acknowledged is lost or doubled over five kills, and every byte is right")
    func kills() async throws {
        let directory = try TemporaryDirectory()
        let server = try await ScriptedServer.start { request in
            .file(Self.file(Int(request.path.dropFirst()) ?? 0), request)
        }
        var random = SeededGenerator(seed: 20_261_121)
        var book: [GID: Int] = [:]
        var paused: Set<GID> = []
        var inDoubt: [NewTransfer] = []
        var next = 0
        for life in 0...5 {
            let daemon = try await DaemonUnderTest.start(directory)
            let there = try await Self.all(daemon.client)
            let found = inDoubt.compactMap(\.id).filter { there[$0] != nil }
            #expect(found.isEmpty || found.count == inDoubt.count, "half of a batch is there after kill \(life)")
            for id in found { book[id] = there[id].flatMap { Self.number($0) } }
            inDoubt = []
            #expect(Set(there.keys) == Set(book.keys), "after kill \(life)")
            for (id, record) in there {
                if paused.contains(id) { #expect(record.state == .paused, "after kill \(life)") }
                if record.state == .finished { try Self.expectWhole(record, directory) }
            }
            if life == 5 {
                try await Self.end(daemon, paused)
                #expect(daemon.terminate() == .exited(0))
                continue
            }
            for _ in 0..<Int.random(in: 2...6, using: &random) {
                let numbers = next..<next + Int.random(in: 1...12, using: &random)
                next = numbers.upperBound
                let entries = Self.entries(numbers, server, isPaused: Int.random(in: 0..<5, using: &random) == 0)
                let ids = try await daemon.client.add(entries)
                #expect(ids == entries.map(\.id))
                for (id, number) in zip(ids, numbers) { book[id] = number }
                if entries[0].isPaused { paused.formUnion(ids) }
            }
            // One more is on its way when the end comes.
            let last = Self.entries(next..<next + 8, server, isPaused: false)
            next += 8
            let requests = server.requests.count
            let adding = Task { try await daemon.client.add(last) }
            // Each of its files is asked for at least once, whatever of the earlier ones still is.
            if Bool.random(using: &random) { await server.waitForRequests(requests + 5) }
            daemon.kill()
            if case .success(let ids) = await adding.result {
                for (id, entry) in zip(ids, last) { book[id] = Self.number(entry.options) }
            } else {
                inDoubt = last
            }
        }
        var names = TemporaryDirectory.entries(of: directory.path("files"))
        if !Self.hasRecovery(directory.path) {
            names.removeAll { $0.hasPrefix(".martlet-") || $0.contains(".") }
        }
        #expect(names == book.values.map { "file\($0)" }.sorted())
        await server.stop()
    }

    /// Whether files of the directory can be unnamed and have attributes.
    ///
    /// Otherwise a kill may leave a file under a temporary name, or one that its transfer does not recognize.
    private static func hasRecovery(_ path: String) -> Bool {
        let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        let file = KernelCalls.openUnnamed(in: directory, O_RDWR, mode: 0o600)
        defer { for descriptor in [directory, file] where descriptor >= 0 { close(descriptor) } }
        return file >= 0 && KernelCalls.setAttribute(file, "user.martlet.probe", [1]) == 0
    }

    private static func number(_ options: TransferOptions) -> Int? { options[.out].flatMap { Int($0.dropFirst(4)) } }
    private static func number(_ record: TransferRecord) -> Int? { Self.number(record.options) }

    private static func all(_ client: ControlClient) async throws -> [GID: TransferRecord] {
        let records = try await client.list(limit: 5000)
        return Dictionary(records.map { ($0.id, $0) }) { first, _ in first }
    }

    private static func expectWhole(_ record: TransferRecord, _ directory: TemporaryDirectory) throws {
        let number = try #require(Self.number(record))
        let file = Self.file(number)
        let path = directory.path("files/file\(number)")
        let actual = record.path ?? ""
        let isNumbered = actual.hasPrefix(path + ".") && !Self.hasRecovery(directory.path)
        #expect(actual == path || isNumbered)
        #expect(file.pattern.difference(fromFileAt: actual, length: file.length) == nil, "\(actual)")
    }

    private static func end(_ daemon: DaemonUnderTest, _ paused: Set<GID>) async throws {
        let events = try await daemon.client.events(path: "/events")
        if !paused.isEmpty { try await daemon.client.perform("martlet.resume", on: .ids(paused.map(\.description))) }
        while case let counts = try await daemon.client.counts(), counts.waiting + counts.started > 0 {
            while let event = try await events.next(), event.name != "drained" {}
        }
        events.cancel()
        for record in try await Self.all(daemon.client).values {
            #expect(record.state == .finished, "\(record.failure?.message ?? "")")
        }
    }
}
