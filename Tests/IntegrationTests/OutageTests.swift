// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Synchronization
import Testing
import FileStorage
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Outages over real sockets")
struct OutageTests {
    /// Runs requests with an engine; `whenHeld` is called once, at the first hold.
    private func run(
        _ requests: [DownloadRequest],
        limit: Int = 5,
        perHost: Int? = nil,
        whenHeld: @escaping @Sendable (TransferEngine) async throws -> Void = { _ in }
    ) async throws -> [TransferEvent] {
        await Turnstile.shared.enter()
        defer { Turnstile.shared.leave() }
        var configuration = TransferEngine.Configuration()
        configuration.concurrentTransfers = limit
        configuration.connectionsPerHost = perHost
        let engine = try LiveEngine.make(configuration, store: DiskStore())
        let recorder = EventRecorder()
        let (holds, source) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
        engine.observe { event in
            recorder.record(event)
            switch event.kind {
            case .held: source.yield()
            case .drained: source.finish()
            default: break
            }
        }
        for request in requests { try engine.add(request) }
        engine.start()
        engine.close()
        for await _ in holds {
            try await whenHeld(engine)
            break
        }
        await engine.waitUntilDrained()
        await engine.stop()
        return recorder.events
    }

    private func count(_ events: [TransferEvent], _ isCounted: (TransferEvent.Kind) -> Bool) -> Int {
        events.count { isCounted($0.kind) }
    }

    private func isFinished(_ kind: TransferEvent.Kind) -> Bool { if case .finished = kind { true } else { false } }
    private func isFailed(_ kind: TransferEvent.Kind) -> Bool { if case .failed = kind { true } else { false } }
    private func isHeld(_ kind: TransferEvent.Kind) -> Bool { if case .held = kind { true } else { false } }
    private func isReleased(_ kind: TransferEvent.Kind) -> Bool { if case .released = kind { true } else { false } }

    @Test("a server that refuses for a while gets every transfer when it is back, none of which used up a retry")
    func back() async throws {
        let harness = try Harness()
        let port = try RefusingPort(isShared: true)
        let servers = Mutex<[ScriptedServer]>([])
        let requests = try (0..<40)
            .map { index in
                try harness.request([port.text("f\(index)")]) {
                    $0.options.retries = 0
                    $0.options.outageTimeout = .seconds(600)
                }
            }
        let url = try HTTPURL(port.text("f0"))
        let events = try await self.run(requests) { engine in
            let hold = engine.hold(of: url)
            #expect(hold?.reason == .unreachable && hold?.code == .connectionRefused && hold?.origin == url.origin)
            #expect(engine.holds.count == 1)
            let server = try await ScriptedServer.start(port: port.port) { .file(ServedFile(length: 1000), $0) }
            servers.withLock { $0.append(server) }
        }
        #expect(self.count(events, self.isFinished) == 40 && self.count(events, self.isFailed) == 0)
        #expect(self.count(events, self.isHeld) == 1 && self.count(events, self.isReleased) == 1)
        for server in servers.withLock({ $0 }) { await server.stop() }
    }

    @Test("a person who knows that the server is back need not wait for the next try")
    func released() async throws {
        let harness = try Harness()
        let port = try RefusingPort(isShared: true)
        let servers = Mutex<[ScriptedServer]>([])
        let request = try harness.request([port.text("f")]) { $0.options.outageTimeout = .seconds(600) }
        let events = try await self.run([request]) { engine in
            let server = try await ScriptedServer.start(port: port.port) { .file(ServedFile(length: 1000), $0) }
            servers.withLock { $0.append(server) }
            engine.releaseHolds()
        }
        #expect(self.count(events, self.isFinished) == 1)
        for server in servers.withLock({ $0 }) { await server.stop() }
    }

    @Test("transfers of hosts that are away hold up none of another host")
    func others() async throws {
        let harness = try Harness()
        let ports = try (0..<20).map { _ in try RefusingPort() }
        let server = try await serve(Served(ServedFile(length: 1000)))
        var requests = try (0..<1000)
            .map { index in
                try harness.request([ports[index % ports.count].text("r\(index)")]) {
                    $0.options.outageTimeout = .seconds(600)
                }
            }
        for index in 0..<50 {
            requests.append(
                try harness.request([server.text("g\(index)")]) { request in request.userInfo = "good" }
            )
        }
        let left = Mutex(50)
        let (rest, source) = AsyncStream.makeStream(of: Void.self)
        await Turnstile.shared.enter()
        defer { Turnstile.shared.leave() }
        let engine = try LiveEngine.make(store: DiskStore())
        engine.observe { event in
            guard case .finished = event.kind, event.userInfo is String else { return }
            let isLast = left.withLock {
                $0 -= 1
                return $0 == 0
            }
            if isLast { source.finish() }
        }
        for request in requests { try engine.add(request) }
        engine.start()
        // Ends only if none of the 50 waits for the thousand before them, whose outage lasts ten minutes.
        for await _ in rest {}
        #expect(engine.counts.finished == 50 && engine.counts.failed == 0)
        await engine.stop()
        await server.stop()
    }

    @Test("an outage that lasts too long fails every transfer of its host, with the time of its beginning")
    func expired() async throws {
        let harness = try Harness()
        let ports = try (0..<5).map { _ in try RefusingPort() }
        let requests = try (0..<100)
            .map { index in
                try harness.request([ports[index % ports.count].text("r\(index)")]) {
                    $0.options.outageTimeout = .seconds(1)
                }
            }
        let events = try await self.run(requests)
        #expect(self.count(events, self.isFailed) == 100 && self.count(events, self.isHeld) >= 5)
        for event in events {
            guard case .failed(let failure) = event.kind else { continue }
            #expect(failure.code == .connectionRefused && failure.message.contains("unreachable since"))
        }
    }

    @Test("transfers that hang at one host hold up none of another host")
    func hanging() async throws {
        let harness = try Harness()
        let gate = Gate()
        let slow = try await ScriptedServer.start { request in
            Reply([.waitUntil(gate)] + Reply.file(ServedFile(length: 10), request).steps)
        }
        let server = try await serve(Served(ServedFile(length: 1000)))
        var requests = try (0..<300).map { try harness.request([slow.text("h\($0)")]) }
        for index in 0..<100 {
            requests.append(
                try harness.request([server.text("g\(index)")]) { request in request.userInfo = "good" }
            )
        }
        let left = Mutex(100)
        await Turnstile.shared.enter()
        defer { Turnstile.shared.leave() }
        var configuration = TransferEngine.Configuration()
        configuration.connectionsPerHost = 1
        let engine = try LiveEngine.make(configuration, store: DiskStore())
        engine.observe { event in
            guard case .finished = event.kind, event.userInfo is String else { return }
            // Nothing of the slow host ends before all of these have.
            if left.withLock({
                $0 -= 1
                return $0 == 0
            }) {
                gate.open()
            }
        }
        for request in requests { try engine.add(request) }
        engine.start()
        engine.close()
        await engine.waitUntilDrained()
        #expect(engine.counts.finished == 400)
        await engine.stop()
        await slow.stop()
        await server.stop()
    }

    @Test("a dead proxy is held in place of the hosts behind it")
    func proxy() async throws {
        let harness = try Harness()
        let port = try RefusingPort()
        var transport = HTTPTransport.Configuration()
        transport.proxy = ProxySettings(try ProxyServer("http://127.0.0.1:\(port.port)", from: "test"))
        let requests = try (0..<8)
            .map { index in
                try harness.request(["http://host\(index).invalid/f"]) { $0.options.outageTimeout = .milliseconds(300) }
            }
        let (_, events, _) = try await harness.run(requests, transport: transport)
        let holds = events.compactMap { event -> HostHold? in
            if case .held(let hold) = event.kind { hold } else { nil }
        }
        #expect(holds.map { $0.origin?.port } == [port.port])
        #expect(self.count(events, self.isFailed) == 8)
    }

    @Test("a name that does not exist fails at once, without a hold")
    func noName() async throws {
        let harness = try Harness()
        let request = try harness.request(["http://no-such-host.invalid/f"]) {
            $0.options.outageTimeout = .milliseconds(200)
        }
        let (_, events, _) = try await harness.run([request])
        let failure = events.compactMap { event -> TransferFailure? in
            if case .failed(let failure) = event.kind { failure } else { nil }
        }
        #expect(failure.map(\.code) == [.nameResolution])
    }
}
