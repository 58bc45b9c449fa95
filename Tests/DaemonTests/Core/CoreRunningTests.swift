// SPDX-License-Identifier: Apache-2.0
import Control
import Dispatch
import Martlet
import QueueStore
import Testing
import TransferTesting

@testable import Daemon

@Suite("Running the queue", .timeLimit(.minutes(2)))
struct CoreRunningTests {
    static let length: Int64 = 3 << 20

    /// A server whose every answer waits for a gate.
    static func gated(_ gate: Gate) async throws -> ScriptedServer {
        try await ScriptedServer.start { _ in Reply([.waitUntil(gate)] + Reply.response(200, text: "x").steps) }
    }

    @Test("Added transfers are fetched, durable and reported; the counts follow")
    func finish() async throws {
        let file = ServedFile(length: Self.length)
        let server = try await ScriptedServer.start { .file(file, $0) }
        let harness = try await CoreHarness()
        let id = try await harness.add(server.text("file.bin"))
        try await harness.events.wait("drained")
        #expect(harness.events.entries == ["queued \(id)", "started \(id)", "finished \(id)", "drained"])
        #expect(file.pattern.difference(fromFileAt: harness.path("file.bin"), length: Self.length) == nil)
        let record = try await harness.core.record(id)
        #expect(record.state == .finished && record.path == harness.path("file.bin"))
        #expect(record.bytes == Self.length && record.total == Self.length && record.ended != nil)
        let counts = harness.core.counts
        #expect(counts.finished == 1 && counts.waiting == 0 && counts.active == 0 && counts.endedInAll == 1)
        await harness.stop()
    }

    @Test("A transfer that ends while its row is read is listed with its end, not as waiting")
    func endsWhileRead() async throws {
        let gate = Gate()
        let server = try await Self.gated(gate)
        let harness = try await CoreHarness()
        let id = try await harness.add(server.text("file"))
        try await harness.events.wait("started \(id)")
        let hasEnded = DispatchSemaphore(value: 0)
        let reading = Task {
            try await harness.core.readRows { (reader) throws(QueueStoreError) in
                let rows = try reader.transfers(in: [.waiting], session: nil, offset: 0, limit: 9, fromEnd: false)
                gate.open()
                hasEnded.wait()
                return rows
            }
        }
        try await harness.events.wait("finished \(id)")
        hasEnded.signal()
        #expect(try await reading.value.map(\.state) == [.finished])
        await harness.stop()
    }

    @Test("A wrong digest and a missing file are failures with aria2's codes")
    func failures() async throws {
        let server = try await ScriptedServer.start { request in
            request.target == "/gone" ? .response(404) : .response(200, text: "text")
        }
        let harness = try await CoreHarness()
        let digest = String(repeating: "00", count: 32)
        let wrong = try await harness.add(server.text("a"), ["checksum": "sha-256=\(digest)", "max-tries": "1"])
        let gone = try await harness.add(server.text("gone"))
        // It may have drained before the second one was added.
        for id in [wrong, gone] { try await harness.events.wait("failed \(id)") }
        #expect(try await harness.core.record(wrong).failure?.code == 32)
        #expect(try await harness.core.record(gone).failure?.code == 3)
        #expect(try await harness.core.record(gone).failure?.status == 404)
        #expect(harness.core.counts.failed == 2)
        await harness.stop()
    }

    @Test("Offsets and limits at the ends of the integers list something or nothing")
    func extremeOffsets() async throws {
        let gate = Gate()
        let server = try await Self.gated(gate)
        let harness = try await CoreHarness()
        try await harness.add(server.text("active"))
        await server.waitForRequests(1)
        try await harness.add(server.text("waiting"))
        let ends = [Int.min, .min + 1, .min + 2, -1, 0, 1, .max - 2, .max - 1, .max]
        for states: Set<TransferRecord.State> in [
            [], [.active], [.waiting], [.active, .finished], [.waiting, .paused],
        ] {
            for offset in ends {
                for limit in ends where limit <= 1 || states != [.waiting] {
                    let query = ListQuery(states: states, offset: offset, limit: limit)
                    let found = try await harness.core.list(query)
                    #expect(found.isEmpty || (-2...1).contains(offset))
                }
            }
        }
        gate.open()
        await harness.stop()
    }

    @Test("Priority goes before order, and a position before both ends")
    func order() async throws {
        let gate = Gate()
        let server = try await Self.gated(gate)
        let harness = try await CoreHarness()
        let first = try await harness.add(server.text("first"))
        await server.waitForRequests(1)
        let second = try await harness.add(server.text("second"))
        let third = try await harness.add(server.text("third"))
        let urgent = try await harness.add(server.text("urgent"), ["priority": "5"])
        let inserted = try await harness.add(server.text("inserted"), at: 1)
        let moved = try await harness.add(server.text("moved"))
        #expect(try await harness.core.move(moved, by: -1, from: .current) == 4)
        #expect(try await harness.core.move(third, by: 0, from: .end) == 5)
        gate.open()
        try await harness.events.wait("drained")
        #expect(
            harness.events.ids("finished")
                == [first, urgent, inserted, second, moved, third].map(\.description)
        )
        await harness.stop()
    }

    @Test("Paused while it runs it stops at once and keeps its bytes; resumed, it continues from them")
    func pauseRunning() async throws {
        var file = ServedFile(length: Self.length)
        file.interruption = .stallAfter(1_500_000)
        file.interruptedResponses = 1
        let served = file
        let server = try await ScriptedServer.start { .file(served, $0) }
        let harness = try await CoreHarness()
        let id = try await harness.add(server.text("file"), ["split": "1"])
        try await harness.events.wait("started \(id)")
        try await harness.events.wait(for: 1_000_000, of: id)
        #expect(try await harness.core.perform(.pause, on: .ids([id])) == 1)
        let paused = try await harness.core.record(id)
        #expect(paused.state == .paused && harness.core.counts.paused == 1 && harness.core.counts.active == 0)
        #expect(paused.bytes >= 1_000_000)
        #expect(await controlCode { try await harness.core.perform(.pause, on: .ids([id])) } == .wrongState)
        #expect(harness.events.entries.contains("paused \(id)"))
        #expect(try await harness.core.perform(.resume, on: .ids([id])) == 1)
        try await harness.events.wait("finished \(id)")
        #expect(file.pattern.difference(fromFileAt: harness.path("file"), length: Self.length) == nil)
        #expect(server.requests(for: "/file").count == 2)
        #expect(server.bodyBytesSent(for: "/file") < Self.length + 1_500_000)
        await harness.stop()
    }

    @Test("Paused while it waits it is passed over; resumed it has its old place")
    func pauseWaiting() async throws {
        let gate = Gate()
        let server = try await Self.gated(gate)
        let harness = try await CoreHarness()
        let first = try await harness.add(server.text("1"))
        // The counts are the core's, which can learn of the start after the server.
        try await harness.events.wait("started \(first)")
        let second = try await harness.add(server.text("2"))
        let third = try await harness.add(server.text("3"))
        let late = try await harness.add(server.text("4"), isPaused: true)
        try await harness.core.perform(.pause, on: .ids([second, third]))
        #expect(harness.core.counts.paused == 3 && harness.core.counts.waiting == 0)
        try await harness.core.perform(.resume, on: .ids([third]))
        try await harness.core.perform(.resume, on: .ids([second]))
        gate.open()
        try await harness.events.wait("drained")
        #expect(harness.events.ids("finished") == [first, second, third].map(\.description))
        #expect(try await harness.core.record(late).state == .paused)
        await harness.stop()
    }

    @Test("A hundred resumed one after the other run once each")
    func resumeMany() async throws {
        let gate = Gate()
        let server = try await Self.gated(gate)
        let harness = try await CoreHarness()
        let first = try await harness.add(server.text("0"))
        await server.waitForRequests(1)
        let entries = (1...100).map { NewTransfer(urls: [server.text("\($0)")], isPaused: true) }
        let ids = try await harness.core.add(entries, at: nil)
        for id in ids.reversed() { try await harness.core.perform(.resume, on: .ids([id])) }
        gate.open()
        try await harness.events.wait("drained")
        let finished = harness.events.ids("finished")
        #expect(finished.first == first.description && finished.count == 101)
        #expect(Set(finished) == Set(([first] + ids).map(\.description)))
        await harness.stop()
    }

    @Test("Removed while it runs it is gone with its partial file, and its name is free")
    func remove() async throws {
        var file = ServedFile(length: Self.length)
        file.interruption = .stallAfter(1_500_000)
        file.interruptedResponses = 1
        let served = file
        let server = try await ScriptedServer.start { .file(served, $0) }
        let harness = try await CoreHarness()
        let id = try await harness.add(server.text("file"), ["split": "1"])
        try await harness.events.wait(for: 1_000_000, of: id)
        try await harness.core.perform(.remove(deletesPartial: true), on: .ids([id]))
        #expect(try await harness.core.record(id).state == .removed && harness.core.counts.removed == 1)
        let again = try await harness.add(server.text("file"))
        try await harness.events.wait("finished \(again)")
        #expect(try await harness.core.record(again).path == harness.path("file"))
        #expect(server.requests(for: "/file")[1]["Range"] == nil, "there were no bytes to resume from")
        try await harness.core.perform(.forget, on: .ids([id]))
        #expect(await controlCode { try await harness.core.record(id) } == .notFound)
        #expect(harness.core.counts.removed == 0)
        await harness.stop()
    }

    @Test("Removed while they are paused they are gone with their partial files when the call returns")
    func removePaused() async throws {
        var file = ServedFile(length: Self.length)
        file.interruption = .stallAfter(1_500_000)
        file.interruptedResponses = 6
        let served = file
        let server = try await ScriptedServer.start { .file(served, $0) }
        let harness = try await CoreHarness { $0.options[.maxConcurrentDownloads] = "6" }
        var ids: [GID] = []
        for number in 0..<6 { ids.append(try await harness.add(server.text("file\(number)"), ["split": "1"])) }
        for id in ids { try await harness.events.wait(for: 1_000_000, of: id) }
        try await harness.core.perform(.pause, on: .ids(ids))
        #expect(TemporaryDirectory.entries(of: harness.path("")).count == 12)
        try await harness.core.perform(.remove(deletesPartial: true), on: .ids(ids))
        #expect(TemporaryDirectory.entries(of: harness.path("")) == [])
        await harness.stop()
    }

    @Test("Paused before its first bytes, it keeps its path, by which its removal finds the partial file")
    func pausedBeforeBytes() async throws {
        var file = ServedFile(length: Self.length)
        file.interruption = .stallAfter(0)
        file.interruptedResponses = 1
        let served = file
        let server = try await ScriptedServer.start { .file(served, $0) }
        let harness = try await CoreHarness()
        let id = try await harness.add(server.text("file"), ["split": "1"])
        try await harness.events.wait("started \(id)")
        try await harness.core.perform(.pause, on: .ids([id]))
        let record = try await harness.core.record(id)
        #expect(record.state == .paused && record.bytes == 0)
        #expect(record.path == harness.path("file"))
        await harness.stop()
    }

    @Test("Removing all leaves no transfer, no partial file and no request, and what is added next runs")
    func removeAll() async throws {
        let gate = Gate()
        var file = ServedFile(length: Self.length)
        file.interruption = .stallAfter(1_500_000)
        file.interruptedResponses = 2
        let served = file
        let server = try await ScriptedServer.start { request in
            if request.target.hasPrefix("/wait") { return Reply([.waitUntil(gate)]) }
            if request.target == "/next" { return .response(200, text: "x") }
            return .file(served, request)
        }
        let harness = try await CoreHarness { $0.options[.maxConcurrentDownloads] = "1" }
        let paused = try await harness.add(server.text("paused"), ["split": "1"])
        try await harness.events.wait(for: 1_000_000, of: paused)
        try await harness.core.perform(.pause, on: .ids([paused]))
        let running = try await harness.add(server.text("running"), ["split": "1"])
        try await harness.events.wait(for: 1_000_000, of: running)
        let entries = (0..<1500).map { NewTransfer(urls: [server.text("wait\($0)")]) }
        let ids = try await harness.core.add(entries, at: nil)
        let count = try await harness.core.perform(.remove(deletesPartial: true), on: .all(session: nil))
        let counts = harness.core.counts
        #expect(count == 1502 && counts.waiting + counts.active + counts.paused == 0)
        #expect(harness.events.ids("all") == ["removed"])
        #expect(harness.events.ids("removed").contains(running.description))
        let states = [try await harness.core.record(paused).state, try await harness.core.record(ids[1499]).state]
        #expect(states == [.removed, .removed])
        #expect(try await harness.core.perform(.remove(deletesPartial: true), on: .all(session: nil)) == 0)
        let next = try await harness.add(server.text("next"))
        try await harness.events.wait("finished \(next)")
        let end = ContinuousClock.now + .seconds(20)
        while TemporaryDirectory.entries(of: harness.path("")) != ["next"], ContinuousClock.now < end {
            await Task.yield()
        }
        #expect(TemporaryDirectory.entries(of: harness.path("")) == ["next"])
        #expect(server.requests(for: "/wait0").isEmpty)
        gate.open()
        await harness.stop()
    }

    @Test("A failed one that is tried again goes to the end of the line")
    func retry() async throws {
        var file = ServedFile(length: 1000)
        file.refusal = .init(status: 404, count: 1)
        let served = file
        let server = try await ScriptedServer.start { .file(served, $0) }
        let harness = try await CoreHarness()
        let id = try await harness.add(server.text("file"))
        try await harness.events.wait("failed \(id)")
        #expect(await controlCode { try await harness.core.perform(.resume, on: .ids([id])) } == .wrongState)
        #expect(try await harness.core.perform(.retry, on: .ids([id])) == 1)
        try await harness.events.wait("finished \(id)")
        // An end is reported before it is counted, both in one step of the core: its next response follows them.
        #expect(try await harness.core.record(id).state == .finished)
        #expect(harness.core.counts.failed == 0 && harness.core.counts.finished == 1)
        await harness.stop()
    }

    @Test("Options changed while it runs keep the bytes, and it restarts only once", arguments: 0..<8)
    func change(_: Int) async throws {
        let gate = Gate()
        var file = ServedFile(length: Self.length)
        file.interruption = .stallAfter(1_500_000)
        file.interruptedResponses = 1
        let served = file
        let server = try await ScriptedServer.start { request in
            // The second request takes long enough for another restart.
            Reply((request.targetIndex == 1 ? [.waitUntil(gate)] : []) + Reply.file(served, request).steps)
        }
        let harness = try await CoreHarness()
        let id = try await harness.add(server.text("file"), ["split": "1", "out": "name"])
        try await harness.events.wait(for: 1_000_000, of: id)
        try await harness.core.changeOptions(id, TransferOptions(["header": ["X-New: 1"]]))
        await server.waitForRequests(2)
        gate.open()
        try await harness.events.wait("finished \(id)")
        #expect(file.pattern.difference(fromFileAt: harness.path("name"), length: Self.length) == nil)
        let requests = server.requests(for: "/file")
        #expect(requests.count == 2 && requests.last?.fields.joined("X-New") == "1")
        #expect(server.bodyBytesSent(for: "/file") < Self.length + 1_500_000)
        #expect(await controlCode { try await harness.core.changeOptions(id, TransferOptions()) } == .wrongState)
        await harness.stop()
    }

    @Test("All are paused and resumed at once; nothing is left behind")
    func all() async throws {
        let gate = Gate()
        let server = try await Self.gated(gate)
        let harness = try await CoreHarness()
        let entries = (0..<700).map { NewTransfer(urls: [server.text("\($0)")]) }
        let ids = try await harness.core.add(entries, at: nil)
        await server.waitForRequests(1)
        #expect(try await harness.core.perform(.pause, on: .all(session: nil)) == 700)
        #expect(harness.core.counts.paused == 700 && harness.core.counts.active == 0)
        try await harness.core.changeGlobalOptions(TransferOptions(["max-concurrent-downloads": ["16"]]))
        gate.open()
        harness.events.clear()
        #expect(try await harness.core.perform(.resume, on: .all(session: nil)) == 700)
        try await harness.events.wait("drained")
        #expect(Set(harness.events.ids("finished")) == Set(ids.map(\.description)))
        #expect(harness.events.ids("finished").count == 700 && harness.core.counts.endedInAll == 700)
        await harness.stop()
    }

    @Test("Transfers that waited or ran when the daemon stopped continue when it starts again")
    func restart() async throws {
        var file = ServedFile(length: Self.length)
        file.interruption = .stallAfter(1_500_000)
        file.interruptedResponses = 1
        let served = file
        let server = try await ScriptedServer.start { request in
            switch request.target {
            case "/gone": .response(404)
            case "/file": .file(served, request)
            default: .response(200, text: "text")
            }
        }
        let first = try await CoreHarness()
        let gone = try await first.add(server.text("gone"))
        try await first.events.wait("failed")
        let running = try await first.add(server.text("file"), ["split": "1"])
        let waiting = try await first.add(server.text("other"))
        let paused = try await first.add(server.text("paused"), isPaused: true)
        try await first.events.wait(for: 1_000_000, of: running)
        try await first.core.changeGlobalOptions(TransferOptions(["max-download-limit": ["0"]]))
        // At once: none of them takes the other's away.
        async let one: Void = first.core.setHostLimit("Localhost", 3)
        async let two: Void = first.core.setHostLimit("example.org", 4)
        _ = try await (one, two)
        await first.stop()
        #expect(await controlCode { try await first.core.record(running) } == .stopping)
        let second = try await CoreHarness(first.directory)
        try await second.events.wait("drained")
        #expect(second.events.ids("finished") == [running, waiting].map(\.description))
        #expect(file.pattern.difference(fromFileAt: second.path("file"), length: Self.length) == nil)
        #expect(server.bodyBytesSent(for: "/file") < Self.length + 1_500_000)
        #expect(try await second.core.record(paused).state == .paused)
        #expect(try await second.core.record(gone).state == .failed)
        #expect(second.core.hostLimits == ["localhost": 3, "example.org": 4])
        #expect(second.core.globalOptions[.maxDownloadLimit] == "0")
        await second.stop()
    }

    @Test("The history keeps no more than it is to")
    func history() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try await CoreHarness { $0.options[.maxDownloadResult] = "3" }
        let entries = (0..<20).map { NewTransfer(urls: [server.text("\($0)")]) }
        let ids = try await harness.core.add(entries, at: nil)
        try await harness.events.wait("drained")
        // It looks from time to time; this is such a look, or finds one under way, which may not know of the last ends.
        for _ in 0..<2 {
            _ = await harness.core.tick()
            try await harness.core.save()
        }
        let kept = try await harness.core.list(ListQuery(states: [.finished]))
        #expect(kept.map(\.id) == Array(ids.suffix(3)) && harness.core.counts.endedInAll == 20)
        await harness.stop()
    }

    @Test("An identifier is added once, and a batch with a bad entry not at all")
    func atomicAdds() async throws {
        let harness = try await CoreHarness()
        let id = try #require(GID("00000000000000ab"))
        _ = try await harness.core.add([NewTransfer(id: id, urls: ["http://localhost/a"], isPaused: true)], at: nil)
        let twice = NewTransfer(id: id, urls: ["http://localhost/b"], isPaused: true)
        let other = NewTransfer(urls: ["http://localhost/c"], isPaused: true)
        #expect(await controlCode { try await harness.core.add([other, twice], at: nil) } == .duplicate)
        let bad = NewTransfer(urls: ["ftp://localhost/c"], isPaused: true)
        #expect(await controlCode { try await harness.core.add([other, bad], at: nil) } == .badParameter)
        #expect(harness.core.counts.paused == 1)
        #expect(try await harness.core.resolve("00000000000000a") == id)
        #expect(await controlCode { try await harness.core.resolve("xyz") } == .badParameter)
        await harness.stop()
    }
}
