// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import TransferEngine

/// A transport that calls a ``RequestAdapter`` before each exchange.
///
/// It is in front of the cache, which stores a response for the fields that were sent.
final class AdaptingTransport: Transport {
    let network: any Transport
    let adapter: any RequestAdapter

    init(_ network: any Transport, _ adapter: any RequestAdapter) {
        self.network = network
        self.adapter = adapter
    }

    var laneCount: Int { self.network.laneCount }

    func execute(onLane lane: Int, _ work: @escaping @Sendable () -> Void) {
        self.network.execute(onLane: lane, work)
    }

    func proxy(for url: HTTPURL) -> Origin? { self.network.proxy(for: url) }

    func start(_ request: ExchangeRequest, onLane lane: Int, receiver: any ExchangeReceiver) -> any Exchange {
        let exchange = AdaptingExchange(self, request, lane: lane, receiver: receiver)
        exchange.begin()
        return exchange
    }

    func shutdown() async { await self.network.shutdown() }
}

// `@unchecked Sendable`: the variables are used on the event loop of `lane` only. The engine starts an exchange there, the
// network calls it there, and the adapter's result and commands from other threads are passed to it by `onLane`.
/// An exchange that starts once its request was adapted.
final class AdaptingExchange: Exchange, ConnectionReceiver, @unchecked Sendable {
    private let transport: AdaptingTransport
    private let lane: Int
    private var request: ExchangeRequest
    private var receiver: (any ExchangeReceiver)?
    /// The call of the adapter.
    private var adapting: Task<Void, Never>?
    private var network: (any Exchange)?

    init(
        _ transport: AdaptingTransport,
        _ request: ExchangeRequest,
        lane: Int,
        receiver: any ExchangeReceiver
    ) {
        self.transport = transport
        self.lane = lane
        self.request = request
        self.receiver = receiver
    }

    private var outgoing: AdaptedRequest {
        AdaptedRequest(method: self.request.method, url: self.request.url, headers: self.request.fields)
    }

    private func onLane(_ work: @escaping @Sendable () -> Void) {
        self.transport.execute(onLane: self.lane, work)
    }

    // MARK: Control

    func begin() {
        let (adapter, outgoing) = (self.transport.adapter, self.outgoing)
        self.adapting = Task {
            let result: Result<HeaderFields, any Error>
            do {
                result = .success(try await adapter.fields(for: outgoing))
            } catch {
                result = .failure(error)
            }
            self.onLane { self.adapted(result) }
        }
    }

    func resumeReading() { self.onLane { self.network?.resumeReading() } }

    func cancel() {
        self.onLane {
            let (network, adapting) = (self.network, self.adapting)
            self.end()
            adapting?.cancel()
            network?.cancel()
        }
    }

    func setReadQuantum(_ bytes: Int?) {
        self.onLane {
            self.request.readQuantum = bytes
            self.network?.setReadQuantum(bytes)
        }
    }

    private func end() {
        self.receiver = nil
        self.network = nil
        self.adapting = nil
    }

    private func adapted(_ result: Result<HeaderFields, any Error>) {
        // It was cancelled in the meantime.
        guard self.receiver != nil else { return }
        self.adapting = nil
        do {
            let fields = try result.get()
            // A line break in a value would end the request's head early.
            try TransferSession.check(fields)
            for field in fields { self.request.fields.remove(field.name) }
            for field in fields { self.request.fields.append(field.name, field.value) }
            self.network = self.transport.network.start(self.request, onLane: self.lane, receiver: self)
        } catch {
            let name = self.request.url.redacted
            self.exchangeFailed(TransportError(.proxySettings, "\(name): the request adapter failed: \(error)"))
        }
    }

    // MARK: The network's response

    func exchangeUses(_ connection: ConnectionReport) {
        (self.receiver as? any ConnectionReceiver)?.exchangeUses(connection)
    }

    func exchangeConnected() { self.receiver?.exchangeConnected() }

    func exchangeReceived(interim status: Int, fields: HeaderFields) {
        self.receiver?.exchangeReceived(interim: status, fields: fields)
    }

    func exchangeReceived(head: ResponseHead) -> ReadDecision {
        if head.status == 401, self.receiver != nil {
            let response = TransferResponse(url: self.request.url, head: head, expectedLength: nil)
            self.transport.adapter.wasRefused(self.outgoing, with: response)
        }
        return self.passed(self.receiver?.exchangeReceived(head: head))
    }

    func exchangeReceived(body: UnsafeRawBufferPointer) -> ReadDecision {
        self.passed(self.receiver?.exchangeReceived(body: body))
    }

    private func passed(_ decision: ReadDecision?) -> ReadDecision {
        guard let decision else { return .close }
        if case .close = decision { self.end() }
        return decision
    }

    func exchangeEnded(trailers: HeaderFields, cleanly: Bool) {
        let receiver = self.receiver
        self.end()
        receiver?.exchangeEnded(trailers: trailers, cleanly: cleanly)
    }

    func exchangeFailed(_ error: TransportError) {
        let receiver = self.receiver
        self.end()
        receiver?.exchangeFailed(error)
    }
}
