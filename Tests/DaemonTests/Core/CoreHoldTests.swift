// SPDX-License-Identifier: Apache-2.0
import Control
import Martlet
import TransferCore
import QueueStore
import Synchronization
import Testing
import TransferTesting

@testable import Daemon

@Suite("What holds the queue, and its pages", .timeLimit(.minutes(2)))
struct CoreHoldTests {
    /// A time of day that a test sets.
    private final class Day: Sendable {
        private let value = Mutex(0)

        var minute: Int {
            get { self.value.withLock { $0 } }
            set { self.value.withLock { $0 = newValue } }
        }
    }

    @Test("Outside the schedule nothing runs; interrupted transfers resume from their bytes")
    func schedule() async throws {
        var file = ServedFile(length: CoreRunningTests.length)
        file.interruption = .stallAfter(1_500_000)
        file.interruptedResponses = 1
        let served = file
        let server = try await ScriptedServer.start { .file(served, $0) }
        let day = Day()
        let harness = try await CoreHarness { $0.clock.local = { (day.minute, 0) } }
        let id = try await harness.add(server.text("file"), ["split": "1"])
        try await harness.events.wait(for: 1_000_000, of: id)
        try await harness.core.setSchedule(Schedule(start: 60, end: 120))
        await harness.core.waitUntilLeft([id], nil)
        #expect(harness.core.counts.active == 0)
        let held = try await harness.core.record(id)
        #expect(held.state == .waiting && held.waitingFor == .schedule)
        #expect(await controlCode { try await harness.core.setSchedule(Schedule(start: -1, end: 0)) } == .badParameter)
        day.minute = 60
        _ = await harness.core.tick()
        try await harness.events.wait("finished \(id)")
        #expect(file.pattern.difference(fromFileAt: harness.path("file"), length: CoreRunningTests.length) == nil)
        #expect(server.bodyBytesSent(for: "/file") < CoreRunningTests.length + 1_500_000)
        await harness.stop()
    }

    @Test("A session that must not run on battery waits for the mains")
    func conditions() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let power = Power()
        let harness = try await CoreHarness { $0.conditions = power }
        _ = try await harness.core.openSession(
            "s",
            instance: "a",
            program: "p",
            configuration: ["discretion": ["requiresMainsPower": true]]
        )
        let id = try await harness.add(server.text("one"), session: "s")
        let held = try await harness.core.record(id)
        #expect(held.state == .waiting && held.waitingFor == .conditions && server.requests.isEmpty)
        power.battery = false
        await harness.core.lookAtConditions()
        try await harness.events.wait("finished \(id)")
        await harness.stop()
    }

    @Test("A session that must not use an expensive network waits for another one")
    func expensiveNetwork() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let network = Power()
        let harness = try await CoreHarness { $0.conditions = network }
        _ = try await harness.core.openSession(
            "s",
            instance: "a",
            program: "p",
            configuration: ["allowsExpensiveNetwork": false]
        )
        let id = try await harness.add(server.text("one"), session: "s")
        let held = try await harness.core.record(id)
        #expect(held.state == .waiting && held.waitingFor == .conditions && server.requests.isEmpty)
        network.battery = false
        await harness.core.lookAtConditions()
        try await harness.events.wait("finished \(id)")
        await harness.stop()
    }

    @Test("Other settings of a session do not let more transfers run at once, but for one, and none is sent twice")
    func otherEngines() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { _ in
            Reply([.waitUntil(gate)] + Reply.response(200, text: "x").steps)
        }
        let harness = try await CoreHarness()
        var configuration: JSON = ["concurrentTransfers": 4]
        _ = try await harness.core.openSession("s", instance: "a", program: "p", configuration: configuration)
        for number in 0..<12 { _ = try await harness.add(server.text("\(number)"), session: "s") }
        await server.waitForRequests(4)
        // Needs other engines: those that run keep theirs, and the others get one in the new one.
        configuration = ["concurrentTransfers": 4, "maximumRedirects": 3]
        _ = try await harness.core.openSession("s", instance: "a", program: "p", configuration: configuration)
        await server.waitForRequests(5)
        for _ in 0..<3 { _ = await harness.core.tick() }
        #expect(server.requests.count == 5)
        gate.open()
        try await harness.events.wait("finished", count: 12)
        #expect(Set(server.requests.map(\.target)).count == 12 && server.requests.count == 12)
        await harness.stop()
    }

    /// On battery, and over an expensive network, or neither.
    private final class Power: SystemConditions {
        private let value = Mutex(true)

        var battery: Bool {
            get { self.value.withLock { $0 } }
            set { self.value.withLock { $0 = newValue } }
        }
        var isOnBattery: Bool { self.battery }
        var isNetworkExpensive: Bool { self.battery }
    }

    @Test("With a full disk under the database the queue waits, says so, and loses nothing")
    func diskFull() async throws {
        let gate = Gate()
        // The stored part of such a response needs space, too.
        let field = ("X-Long", String(repeating: "y", count: 60_000))
        let server = try await ScriptedServer.start { request in
            request.target == "/one"
                ? Reply([.waitUntil(gate)] + Reply.response(200, [field], text: "x").steps)
                : Reply.response(200, text: "x")
        }
        // Long enough for the change below: in one transaction with the next attempt it would fail with that.
        let harness = try await CoreHarness { $0.fullRetry = 10 }
        _ = try await harness.core.openSession("s", instance: "a", program: "p", configuration: [:])
        let text = String(repeating: "x", count: 100_000)
        // A short one: where its progress is stored meanwhile, its row leaves less room than the response needs.
        let id = try await harness.add(server.text("one"), session: "s")
        let next = try await harness.add(server.text("two"), isPaused: true)
        await server.waitForRequests(1)
        await harness.store.limitPages(1)
        gate.open()
        try await harness.events.wait(forLine: "the queue's disk is full")
        // A change in place needs no room.
        try await harness.core.perform(.resume, on: .ids([next]))
        #expect(try await harness.core.record(next).waitingFor == .diskFull)
        #expect(harness.core.health != .ok)
        #expect(await controlCode { try await harness.add(server.text("three"), ["description": text]) } == .diskFull)
        await harness.store.limitPages(0)
        try await harness.events.wait("finished \(id)")
        try await harness.events.wait("finished \(next)")
        #expect(harness.core.health == .ok)
        try await harness.events.wait("drained")
        #expect(try await harness.core.record(id).state == .finished)
        try await harness.add("http://localhost/", isPaused: true)
        await harness.stop()
    }

    @Test("Pages of what waits leave out what runs, exactly, from both ends")
    func pages() async throws {
        let gate = Gate()
        let server = try await CoreRunningTests.gated(gate)
        let harness = try await CoreHarness { $0.options[.maxConcurrentDownloads] = "3" }
        let paused = try await harness.add(server.text("p"), isPaused: true)
        let ids = try await harness.core.add((0..<10).map { NewTransfer(urls: [server.text("\($0)")]) }, at: nil)
        await server.waitForRequests(3)
        for id in ids.prefix(3) { try await harness.events.wait("started \(id)") }
        let core = harness.core
        let line = [paused] + ids.dropFirst(3)
        for offset in 0..<10 {
            let page = try await core.list(ListQuery(states: [.waiting, .paused], offset: offset, limit: 3))
            #expect(page.map(\.id) == Array(line.dropFirst(offset).prefix(3)), "from \(offset)")
            let back = try await core.list(ListQuery(states: [.waiting, .paused], offset: -1 - offset, limit: 3))
            #expect(back.map(\.id) == Array(line.reversed().dropFirst(offset).prefix(3)), "back from \(offset)")
        }
        #expect(try await core.list(ListQuery(states: [.active])).map(\.id) == Array(ids.prefix(3)))
        #expect(try await core.list(ListQuery()).map(\.state).count { $0 == .active } == 3)
        let mixed = try await core.list(ListQuery(states: [.active, .paused], session: .some(nil)))
        #expect(mixed.map(\.id) == ids.prefix(3) + [paused])
        gate.open()
        await harness.stop()
    }

    @Test("Who does not read loses progress first, and is then left")
    func listener() async throws {
        let broadcast = EventBroadcast()
        let stream = broadcast.listen(capacity: 2)
        broadcast.send([.progress([])])
        broadcast.send([.drained, .drained])
        #expect(broadcast.interest == .all)
        broadcast.send([.drained])
        #expect(broadcast.interest.isEmpty)
        var count = 0
        for await batch in stream {
            for event in batch { if case .drained = event { count += 1 } else { Issue.record("progress") } }
        }
        #expect(count == 2)
    }

    @Test("A listener receives only events of its interest, several together in their order")
    func interest() async throws {
        let broadcast = EventBroadcast()
        let stream = broadcast.listen([.drained, .actions], capacity: 8)
        broadcast.send([.progress([])])
        broadcast.send([.drained, .progress([]), .all(.paused, session: nil, count: 2)])
        broadcast.send([.drained])
        #expect(broadcast.interest == [.drained, .actions])
        broadcast.finish()
        var batches: [[String]] = []
        for await batch in stream { batches.append(batch.map(\.kind)) }
        #expect(batches == [["drained", "all", "drained"]])
    }
}
