// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import QueueStore
import Synchronization
import Testing
import TransferTesting

@testable import Daemon

@Suite("Background sessions in the core", .timeLimit(.minutes(2)))
struct CoreSessionTests {
    static func open(_ harness: CoreHarness, _ instance: String = "a", _ json: JSON = [:]) async throws
        -> SessionOpening
    {
        try await harness.core.openSession("s", instance: instance, program: "program \(instance)", configuration: json)
    }

    /// The stored events up to one.
    static func read(
        _ stream: AsyncStream<SessionEvent>,
        until last: (SessionEvent) -> Bool
    ) async -> [SessionEvent] {
        var events: [SessionEvent] = []
        for await event in stream where event.number > 0 {
            events.append(event)
            if last(event) { break }
        }
        return events
    }

    @Test("Responses and ends are events, numbered, in order, until they are acknowledged")
    func events() async throws {
        let server = try await ScriptedServer.start { request in
            request.target == "/gone" ? .response(404) : .response(200, [("X-Field", "1")], text: "four")
        }
        let harness = try await CoreHarness()
        #expect(try await Self.open(harness).last == 0)
        let one = try await harness.add(server.text("one"), session: "s")
        try await harness.events.wait("finished \(one)")
        let gone = try await harness.add(server.text("gone"), session: "s")
        try await harness.events.wait("failed \(gone)")
        let stream = try await harness.core.sessionEvents("s", instance: "a", after: 0)
        let events = await Self.read(stream) { $0.json["kind"]?.string == "failed" }
        #expect(events.map(\.number) == Array(1...Int64(events.count)))
        #expect(events.first?.json["kind"]?.string == "response" && events.first?.json["status"]?.integer == 200)
        #expect(events.first?.json["fields"]?.array?.contains(["X-Field", "1"]) == true)
        #expect(events.dropFirst().first?.json["kind"]?.string == "finished")
        #expect(events.dropFirst().first?.json["path"]?.string == harness.path("one"))
        #expect(events.last?.json["error"]?["code"]?.integer == 3)
        let opening = try await Self.open(harness)
        #expect(opening.transfers.map(\.id) == [one, gone] && opening.last == Int64(events.count))
        try await harness.core.acknowledge("s", upTo: 2)
        #expect(try await Self.open(harness).transfers.map(\.id) == [gone])
        #expect(await controlCode { try await harness.core.acknowledge("s", upTo: 99) } == .badParameter)
        #expect(harness.core.counts.finished == 0 && harness.core.counts.failed == 1)
        let rest = try await harness.core.sessionEvents("s", instance: "a", after: 2)
        #expect(await Self.read(rest) { $0.json["kind"]?.string == "failed" }.first?.number == 3)
        await harness.stop()
    }

    /// Stores an event before the core is notified of it.
    private static func storeEvent(_ harness: CoreHarness) async throws -> Int64 {
        try await harness.store.write { (writer) throws(QueueStoreError) in
            try writer.appendEvent(session: "s", transfer: .random(), json: #"{"kind":"waiting"}"#)
        }
    }

    @Test("An event that is read before the core is notified can be acknowledged")
    func earlyAcknowledgement() async throws {
        let harness = try await CoreHarness()
        _ = try await Self.open(harness)
        let number = try await Self.storeEvent(harness)
        try await harness.core.acknowledge("s", upTo: number)
        #expect(await controlCode { try await harness.core.acknowledge("s", upTo: number + 1) } == .badParameter)
        #expect(await controlCode { try await harness.core.acknowledge("s", upTo: -1) } == .badParameter)
        await harness.stop()
    }

    @Test("A program that opens its session again while it reads misses no event")
    func reopenedWhileReading() async throws {
        let harness = try await CoreHarness()
        _ = try await Self.open(harness)
        let stream = try await harness.core.sessionEvents("s", instance: "a", after: 0)
        // As a rule the first page is empty, and the reader waits when the event is stored.
        let reading = Task { await Self.read(stream) { _ in true } }
        let first = try await Self.storeEvent(harness)
        #expect(try await Self.open(harness).last == first)
        await harness.core.stored("s", first)
        #expect(await reading.value.map(\.number) == [first])
        await harness.stop()
    }

    @Test("Events come while they are read, and are still there after the daemon's restart")
    func liveAndRestart() async throws {
        let gate = Gate()
        let server = try await CoreRunningTests.gated(gate)
        let harness = try await CoreHarness()
        _ = try await Self.open(harness)
        let stream = try await harness.core.sessionEvents("s", instance: "a", after: 0)
        let reading = Task { await Self.read(stream) { $0.json["kind"]?.string == "finished" } }
        let id = try await harness.add(server.text("one"), session: "s")
        await server.waitForRequests(1)
        gate.open()
        let live = await reading.value
        #expect(live.last?.json["id"]?.string == id.description)
        await harness.stop()
        let second = try await CoreHarness(harness.directory)
        let opening = try await Self.open(second, "b")
        #expect(opening.transfers.map(\.state) == [.finished] && opening.last == live.last?.number)
        let again = try await second.core.sessionEvents("s", instance: "b", after: 0)
        #expect(await Self.read(again) { $0.json["kind"]?.string == "finished" } == live)
        await second.stop()
    }

    @Test("Another program is refused until the one that reads has gone, or has not begun in time")
    func hold() async throws {
        let box = Clock(1000)
        let harness = try await CoreHarness { $0.clock.now = { box.now } }
        _ = try await Self.open(harness)
        #expect(await controlCode { try await Self.open(harness, "b") } == .sessionInUse)
        box.now = 1010
        _ = try await Self.open(harness, "b")
        #expect(
            await controlCode { try await harness.core.sessionEvents("s", instance: "a", after: 0) } == .sessionInUse
        )
        let stream = try await harness.core.sessionEvents("s", instance: "b", after: 0)
        let reading = Task { for await _ in stream {} }
        box.now = 5000
        #expect(await controlCode { try await Self.open(harness, "a") } == .sessionInUse)
        #expect(try await harness.core.sessions().first?.program == "program b")
        reading.cancel()
        await reading.value
        try await harness.events.wait(forLine: "the reader of the session s ")
        #expect(try await harness.core.sessions().first?.program == nil)
        _ = try await Self.open(harness, "a")
        await harness.stop()
    }

    @Test("Closed for good, its transfers and its events are gone")
    func close() async throws {
        let gate = Gate()
        let server = try await CoreRunningTests.gated(gate)
        // Nobody reads: the session is held as long as the lease lasts.
        let harness = try await CoreHarness { $0.sessionLease = 600 }
        _ = try await Self.open(harness)
        let id = try await harness.add(server.text("one"), session: "s")
        _ = try await harness.add(server.text("two"), session: "s")
        await server.waitForRequests(1)
        #expect(
            await controlCode { try await harness.core.closeSession("s", instance: "b", keepsTransfers: false) }
                == .sessionInUse
        )
        try await harness.core.closeSession("s", instance: "a", keepsTransfers: false)
        #expect(try await harness.core.sessions().isEmpty)
        #expect(await controlCode { try await harness.core.record(id) } == .notFound)
        #expect(await controlCode { try await harness.add(server.text("three"), session: "s") } == .notFound)
        let counts = harness.core.counts
        #expect(counts.waiting + counts.active + counts.removed == 0 && counts.endedInAll == 2)
        await harness.stop()
    }

    @Test("A configuration that means nothing is refused when the session is opened")
    func badConfiguration() async throws {
        let harness = try await CoreHarness()
        #expect(await controlCode { try await Self.open(harness, "a", ["retries": "many"]) } == .badParameter)
        #expect(await controlCode { try await harness.add("http://localhost/", session: "s") } == .notFound)
        await harness.stop()
    }
}

/// A clock that a test sets.
final class Clock: Sendable {
    private let value: Mutex<Double>

    init(_ value: Double) { self.value = Mutex(value) }

    var now: Double {
        get { self.value.withLock { $0 } }
        set { self.value.withLock { $0 = newValue } }
    }
}
