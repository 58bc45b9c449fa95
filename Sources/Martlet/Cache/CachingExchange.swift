// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import HTTPTransport
internal import TransferCore
internal import TransferEngine

/// One exchange of a data task: performs the actions of its ``TransferCore/CacheMachine``.
///
/// `@unchecked Sendable`: the variables are used on the event loop of `lane` only. The engine calls an exchange there, the
/// network's exchange has the same event loop, and results of blocking calls are passed to it by `onLane`.
final class CachingExchange: Exchange, ConnectionReceiver, @unchecked Sendable {
    /// The use of the response from the network.
    private enum Phase {
        /// No response from the network has arrived.
        case waiting
        case delivering
        /// It has confirmed the stored response, which is delivered once it has ended.
        case confirmed(ResponseHead)
        /// It has confirmed another response; the request is repeated once it has ended.
        case refetching
    }

    /// The size of the pieces in which a stored body is delivered and read, in bytes.
    private static let piece = 64 << 10
    private static let block = 256 << 10

    private let transport: CachingTransport
    private let request: ExchangeRequest
    private let lane: Int
    private let key: CacheKey
    private let selector: CacheRequest
    private var machine: CacheMachine
    private var receiver: (any ExchangeReceiver)?

    private var phase = Phase.waiting
    private var network: (any Exchange)?
    private var entry: CachedEntry?
    private var recording: CacheRecording?
    private var quantum: Int?
    /// The next byte of the stored body to deliver; `nil` while none is delivered.
    private var position: Int64?
    private var isReadingBlock = false
    private var isConnected = false
    private var isPaused = false
    private var isInCallback = false
    private var wasResumed = false

    init(
        _ transport: CachingTransport,
        _ request: ExchangeRequest,
        _ policy: CachePolicy,
        lane: Int,
        receiver: any ExchangeReceiver
    ) {
        self.transport = transport
        self.request = request
        self.lane = lane
        self.receiver = receiver
        self.key = CacheKey(request.url)
        self.selector = CacheRequest(self.key, request.fields, transport.trust)
        self.quantum = request.readQuantum
        self.machine = CacheMachine(
            method: request.method,
            fields: request.fields,
            hasContent: request.body != nil || request.content != nil,
            policy: policy
        )
    }

    private var now: Int64 { self.transport.cache.now }

    private var isOver: Bool { self.receiver == nil }

    private func onLane(_ work: @escaping @Sendable () -> Void) {
        self.transport.execute(onLane: self.lane, work)
    }

    // MARK: Control

    func begin() { self.perform(self.machine.begin(self.now)) }

    func resumeReading() {
        self.onLane {
            self.wasResumed = true
            if self.isInCallback { return }
            self.isPaused = false
            if self.position != nil { self.deliverStored() } else { self.network?.resumeReading() }
        }
    }

    func cancel() {
        self.onLane {
            let network = self.network
            self.end()
            network?.cancel()
        }
    }

    func setReadQuantum(_ bytes: Int?) {
        self.onLane {
            self.quantum = bytes
            self.network?.setReadQuantum(bytes)
        }
    }

    /// Releases everything; an incomplete recording is discarded.
    private func end() {
        if case .waiting = self.phase { self.transport.cache.received(self) }
        self.receiver = nil
        self.network = nil
        self.entry = nil
        self.recording?.close()
        self.recording = nil
    }

    // MARK: Actions

    private func perform(_ action: CacheMachine.Action) {
        switch action {
        case .lookUp:
            self.transport.cache.lookUp(self.selector) { entry in
                self.onLane { self.found(entry) }
            }
        case .forward(let conditions): self.forward(conditions)
        case .serve(let head): self.serve(head)
        case .fail:
            // Not during `start`, whose caller does not know the exchange yet.
            self.transport.cache.onLine(self.key) { self.onLane { self.fail(self.notCached) } }
        }
    }

    private var notCached: TransportError {
        TransportError(
            .notCached,
            "\(self.request.url.redacted): no usable response is stored in the cache",
            remedy: "use a cache policy that allows a request to the server"
        )
    }

    private func found(_ entry: CachedEntry?) {
        if self.isOver { return }
        self.entry = entry
        self.perform(self.machine.found(entry.map { ($0.response, $0.length) }, self.now))
    }

    private func forward(_ conditions: HeaderFields) {
        var request = self.request
        request.readQuantum = self.quantum
        for (name, value) in conditions { request.fields.append(name, value) }
        self.phase = .waiting
        self.transport.cache.sent(self, self.key)
        self.network = self.transport.network.start(request, onLane: self.lane, receiver: self)
    }

    private func fail(_ error: TransportError) {
        let receiver = self.receiver
        self.end()
        receiver?.exchangeFailed(error)
    }

    /// Calls the receiver and notes its decision.
    private func call(_ body: (any ExchangeReceiver) -> ReadDecision) -> ReadDecision {
        guard let receiver = self.receiver else { return .close }
        self.isInCallback = true
        self.wasResumed = false
        var decision = body(receiver)
        self.isInCallback = false
        if self.isOver { return .close }
        if case .close = decision {
            self.end()
            return .close
        }
        if case .pause = decision, self.wasResumed { decision = .read }
        if case .pause = decision { self.isPaused = true } else { self.isPaused = false }
        return decision
    }

    // MARK: The stored response

    /// Delivers the stored response.
    private func serve(_ head: ResponseHead) {
        guard let entry else { return }
        if !self.isConnected {
            self.isConnected = true
            self.receiver?.exchangeConnected()
        }
        self.position = self.request.method == "HEAD" ? entry.length : 0
        if case .read = self.call({ $0.exchangeReceived(head: head) }) { self.deliverStored() }
    }

    private func deliverStored() {
        while let entry, let position, !self.isPaused, !self.isReadingBlock {
            guard position < entry.length else {
                let receiver = self.receiver
                self.end()
                receiver?.exchangeEnded(trailers: [:], cleanly: true)
                return
            }
            guard let bytes = entry.bytesInMemory else { return self.readBlock(entry, at: position) }
            let count = min(self.quantum ?? Self.piece, Self.piece)
            let end = min(Int(position) + max(1, count), bytes.count)
            self.position = Int64(end)
            _ = bytes.withUnsafeBytes { bytes in
                self.call { $0.exchangeReceived(body: bytes.part(Int(position)..<end)) }
            }
        }
    }

    private func readBlock(_ entry: CachedEntry, at position: Int64) {
        self.isReadingBlock = true
        let count = max(1, min(self.quantum ?? Self.block, Self.block))
        SharedRuntime.pool.run {
            let bytes = entry.read(at: position, atMost: count)
            self.onLane {
                self.isReadingBlock = false
                if self.isOver { return }
                guard let bytes else {
                    self.transport.cache.remove(self.key)
                    return self.fail(TransportError(.truncated, "the rest of the stored response cannot be read"))
                }
                self.position = position + Int64(bytes.count)
                _ = bytes.withUnsafeBytes { bytes in self.call { $0.exchangeReceived(body: bytes) } }
                self.deliverStored()
            }
        }
    }

    // MARK: The network's response

    func exchangeUses(_ connection: ConnectionReport) {
        (self.receiver as? any ConnectionReceiver)?.exchangeUses(connection)
    }

    func exchangeConnected() {
        if self.isConnected { return }
        self.isConnected = true
        self.receiver?.exchangeConnected()
    }

    func exchangeReceived(interim status: Int, fields: HeaderFields) {
        self.receiver?.exchangeReceived(interim: status, fields: fields)
    }

    func exchangeReceived(head: ResponseHead) -> ReadDecision {
        if self.isOver { return .close }
        let cache = self.transport.cache
        let logger = self.transport.logger
        let action = self.machine.headReceived(head, self.now)
        // Noted here, unless a response is recorded: that notes it with the same lock as the recording.
        defer { cache.received(self) }
        switch action {
        case .deliver(let stored):
            if let stored {
                let length = ResponseJudge.length(head)
                switch cache.record(self, self.selector, stored, length: length, logger) {
                case .begun(let recording): self.recording = recording
                case .tooLarge: cache.remove(self.key)
                case .refused: break
                }
            }
        case .deliverRemoving: cache.remove(self.key)
        case .serve(let shown, let stored):
            if let stored, let entry {
                cache.freshen(self, self.selector, entry, stored, logger)
            } else {
                cache.remove(self.key)
            }
            self.phase = .confirmed(shown)
            return .read
        case .refetch:
            self.phase = .refetching
            return .read
        case .serveStale(let shown):
            self.network = nil
            self.serveLater(shown)
            return .close
        }
        self.phase = .delivering
        self.entry = nil
        return self.call { $0.exchangeReceived(head: head) }
    }

    private func serveLater(_ head: ResponseHead) {
        self.transport.cache.onLine(self.key) {
            self.onLane { if !self.isOver { self.serve(head) } }
        }
    }

    func exchangeReceived(body: UnsafeRawBufferPointer) -> ReadDecision {
        // A 304 has no body.
        guard case .delivering = self.phase else { return self.isOver ? .close : .read }
        let mayContinue =
            self.recording?
            .append(body) { self.onLane { if !self.isPaused { self.network?.resumeReading() } } } ?? true
        let decision = self.call { $0.exchangeReceived(body: body) }
        if case .read = decision, !mayContinue { return .pause }
        return decision
    }

    func exchangeEnded(trailers: HeaderFields, cleanly: Bool) {
        self.network = nil
        if self.isOver { return }
        switch self.phase {
        case .confirmed(let head): self.serve(head)
        case .refetching: self.forward([:])
        case .waiting, .delivering:
            // Without a declared end, a cut response looks like a complete one. Digests in trailers are not verified.
            let isVerified = (DigestFields.representation(trailers) + DigestFields.content(trailers)).isEmpty
            if cleanly, isVerified { self.recording?.finish() } else { self.recording?.abandon() }
            self.recording = nil
            let receiver = self.receiver
            self.end()
            receiver?.exchangeEnded(trailers: trailers, cleanly: cleanly)
        }
    }

    func exchangeFailed(_ error: TransportError) {
        self.network = nil
        if self.isOver { return }
        switch self.phase {
        case .confirmed(let head): self.serveLater(head)
        case .refetching: self.forward([:])
        case .waiting:
            if let head = self.machine.failed(error.code, self.now) {
                return self.serveLater(head)
            }
            self.fail(error)
        case .delivering: self.fail(error)
        }
    }
}
