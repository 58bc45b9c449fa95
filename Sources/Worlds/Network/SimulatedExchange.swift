// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import TransferEngine

/// One request and its response in a world.
///
/// `@unchecked Sendable`: a world runs on one thread.
final class SimulatedExchange: Exchange, @unchecked Sendable {
    private enum Phase { case connecting, waiting, body, ended }

    private let transport: SimulatedTransport
    private let request: ExchangeRequest
    private let lane: Int
    private let receiver: any ExchangeReceiver
    private let host: String
    private var isReused: Bool
    /// Whether the request is sent again if a connection that was used before turns out to be closed.
    private var mayRepeat: Bool
    private var connection: Int
    private var facts: ServerRequest?
    private var reply: ServerReply?
    private var phase = Phase.connecting
    private var isPaused = false
    private var isDelivering = false
    private var wasResumed = false
    private var isScheduled = false
    private var hasPaused = false
    private var isActive = false
    private var quantum: Int?
    /// The number of bytes of the body that were delivered.
    private var sent: Int64 = 0
    private var startedAt: Int64 = 0
    /// Sends the content of the request, if its server receives it.
    private var sender: ContentSender?

    private var network: SimulatedNetwork { self.transport.network }
    private var scheduler: Scheduler { self.network.scheduler }

    init(
        _ transport: SimulatedTransport,
        _ request: ExchangeRequest,
        _ lane: Int,
        _ receiver: any ExchangeReceiver,
        connection: Int?
    ) {
        self.transport = transport
        self.request = request
        self.lane = lane
        self.receiver = receiver
        self.host = request.url.host
        self.isReused = connection != nil
        self.mayRepeat =
            request.body == nil && request.content == nil && (request.method == "GET" || request.method == "HEAD")
        self.connection = connection ?? transport.network.newConnection()
        self.quantum = request.readQuantum
    }

    // MARK: What the engine calls

    func resumeReading() {
        guard self.phase != .ended else { return }
        self.isPaused = false
        self.wasResumed = true
        if self.phase == .body, !self.isDelivering { self.next() }
    }

    func cancel() {
        guard self.phase != .ended else { return }
        if self.transport.isOn(self.lane) { return self.finish(keeping: false) }
        self.transport.execute(onLane: self.lane) { self.finish(keeping: false) }
    }

    func setReadQuantum(_ bytes: Int?) { self.quantum = bytes }

    // MARK: Connecting

    func begin() {
        self.startedAt = self.scheduler.now
        self.transport.openExchanges += 1
        let roundTrip = self.network.roundTrip
        self.later(self.isReused ? 0 : roundTrip) { self.connected() }
    }

    private func later(_ delay: Int64, _ work: @escaping () -> Void) {
        self.transport.schedule(after: delay, onLane: self.lane) {
            if self.phase != .ended { work() }
        }
    }

    private func draws(oneIn rarity: Int) -> Bool {
        rarity > 0 && Int.random(in: 0..<rarity, using: &self.scheduler.random) == 0
    }

    private func connected() {
        if !self.isReused {
            if let outage = self.network.outage(of: self.host) { return self.refused(outage) }
            if self.draws(oneIn: self.network.shortageOneIn) || self.network.shortage.contains(self.scheduler.now) {
                return self.fail(self.network.error(.localResource, self.host))
            }
        }
        guard let server = self.network.servers[self.host] else {
            return self.fail(self.network.error(.unknownName, self.host))
        }
        if self.isReused, self.draws(oneIn: self.network.staleOneIn) || self.network.outage(of: self.host) != nil {
            // The pool's connection was closed by the server meanwhile: as `HTTPExchange`, this repeats the request once.
            if self.mayRepeat {
                (self.mayRepeat, self.isReused) = (false, false)
                self.connection = self.network.newConnection()
                return self.later(self.network.roundTrip) { self.connected() }
            }
            return self.fail(self.network.error(.broken, self.host, isReused: true))
        }
        self.isActive = true
        self.network.began(self.host, self.connection)
        self.receiver.exchangeConnected()
        guard self.phase != .ended else { return }
        self.phase = .waiting
        self.later(self.network.roundTrip / 2) { self.arrived(server) }
    }

    private func refused(_ outage: SimulatedNetwork.Outage) {
        guard outage.code == .connectTimeout else { return self.fail(self.network.error(outage.code, self.host)) }
        let left = self.startedAt + self.request.connectTimeout - self.scheduler.now
        self.later(left) { self.fail(self.network.error(.connectTimeout, self.host)) }
    }

    // MARK: The response

    private func arrived(_ server: any SimulatedServer) {
        let facts = ServerRequest(
            number: self.network.nextRequest(),
            process: self.transport.process.number,
            connection: self.connection,
            others: self.network.others(of: self.host) - 1,
            method: self.request.method,
            url: self.request.url,
            fields: self.request.fields
        )
        self.facts = facts
        if let content = self.request.content, let receiver = server as? any ReceivingServer {
            return self.send(content, to: receiver, facts)
        }
        self.network.onRequest?(facts)
        self.answer(server.reply(to: facts))
    }

    private func answer(_ reply: ServerReply) {
        self.reply = reply
        self.later(reply.delay + self.network.roundTrip / 2) { self.respond(reply) }
    }

    private func send(_ content: any RequestContent, to server: any ReceivingServer, _ facts: ServerRequest) {
        let sender = ContentSender(content, to: server, facts, self.transport, lane: self.lane) { [weak self] event in
            guard let self, self.phase == .waiting else { return }
            switch event {
            case .interim(let status, let fields): self.receiver.exchangeReceived(interim: status, fields: fields)
            case .reply(let reply): self.answer(reply)
            case .broken(let code): self.fail(self.network.error(code, self.host))
            }
        }
        self.sender = sender
        sender.begin(waitingAtMost: self.request.continueTimeout)
    }

    private func respond(_ reply: ServerReply) {
        if self.isBroken() { return }
        for status in reply.interim {
            self.receiver.exchangeReceived(interim: status, fields: [:])
            if self.phase == .ended { return }
        }
        guard let head = reply.head else {
            // Without a failure the server says nothing: the engine's timeout ends it.
            if let code = reply.failure { self.fail(self.network.error(code, self.host)) }
            return
        }
        self.phase = .body
        self.network.answered(self.connection)
        self.deliver { self.receiver.exchangeReceived(head: head) }
        if self.phase == .body { self.next() }
    }

    /// Breaks the connection in an outage that does so.
    private func isBroken() -> Bool {
        guard let outage = self.network.outage(of: self.host), outage.breaksConnections else { return false }
        self.fail(self.network.error(.reset, self.host))
        return true
    }

    private func deliver(_ call: () -> ReadDecision) {
        self.isDelivering = true
        self.wasResumed = false
        let decision = call()
        self.isDelivering = false
        switch decision {
        case .read: break
        case .pause: if !self.wasResumed { self.isPaused = true }
        case .close: self.finish(keeping: false)
        }
    }

    /// Schedules the next part of the body, or its end.
    private func next() {
        guard !self.isPaused, !self.isScheduled, self.phase == .body, let reply = self.reply else { return }
        let count = self.nextCount(reply)
        if count == 0, let stall = reply.stall, self.sent >= stall { return }
        self.isScheduled = true
        var delay = count * 1_000_000_000 / max(1, reply.rate)
        if let pause = reply.pause, self.sent >= pause.after, !self.hasPaused {
            self.hasPaused = true
            delay += pause.duration
        }
        self.transport.schedule(after: delay, onLane: self.lane) {
            self.isScheduled = false
            guard self.phase == .body, !self.isPaused else { return }
            if self.isBroken() { return }
            if count > 0 { self.deliver(count, reply) } else { self.end(reply) }
            if self.phase == .body { self.next() }
        }
    }

    private func nextCount(_ reply: ServerReply) -> Int64 {
        var end = reply.range.upperBound - reply.range.lowerBound
        if let cut = reply.cut { end = min(end, cut) }
        if let stall = reply.stall { end = min(end, stall) }
        if let pause = reply.pause, !self.hasPaused, pause.after > self.sent { end = min(end, pause.after) }
        return max(0, min(end - self.sent, Int64(min(self.network.piece, self.quantum ?? .max))))
    }

    private func deliver(_ count: Int64, _ reply: ServerReply) {
        guard let content = reply.content, let facts = self.facts else { return }
        let start = Int(reply.range.lowerBound + self.sent)
        self.sent += count
        self.network.servers[self.host]?.delivered(Int(count), to: facts)
        self.deliver {
            content.bytes.withUnsafeBytes { bytes in
                // Bounds: a reply's range is part of its content.
                self.receiver.exchangeReceived(
                    body: bytes.part(start..<start + Int(count))
                )
            }
        }
        self.network.onDelivered?(facts.process, Int(count))
    }

    private func end(_ reply: ServerReply) {
        if let cut = reply.cut, self.sent >= cut {
            if let code = reply.failure { return self.fail(self.network.error(code, self.host)) }
            guard case .untilClose = reply.head?.framing else {
                return self.fail(self.network.error(.truncated, self.host))
            }
        }
        var isCleanly = true
        if case .untilClose = reply.head?.framing { isCleanly = false }
        // Before the call, in which the engine may start the next exchange on this connection.
        self.finish(keeping: reply.keepsConnection && isCleanly)
        self.receiver.exchangeEnded(trailers: reply.trailers, cleanly: isCleanly)
    }

    private func fail(_ error: TransportError) {
        self.finish(keeping: false)
        self.network.onFailed?()
        self.receiver.exchangeFailed(error)
    }

    private func finish(keeping: Bool) {
        guard self.phase != .ended else { return }
        self.phase = .ended
        self.transport.openExchanges -= 1
        let (number, sent) = (self.facts?.number ?? 0, self.sent)
        self.network.trace.add("network", "#\(number) ends after \(sent) bytes")
        self.network.answered(self.connection)
        if self.isActive { self.network.ended(self.host) }
        self.isActive = false
        let isWhole = self.sender?.isWhole ?? true
        self.sender?.stop()
        self.sender = nil
        if keeping, isWhole { self.transport.keep(self.connection, self.lane, self.request.url.origin) }
    }
}
