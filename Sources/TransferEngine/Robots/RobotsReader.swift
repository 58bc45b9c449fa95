// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Performs the requests of a ``RobotsFetch``.
///
/// `@unchecked Sendable`: the variables are used on the event loop of `lane` only. `RobotsBook` begins there, the timer is
/// passed to it by `execute`, and the transport calls a receiver there.
final class RobotsReader: ExchangeReceiver, @unchecked Sendable {
    private var fetch: RobotsFetch
    private let agent: String
    private let addresses: AddressRule?
    private let lane: Int
    private let transport: any Transport
    private var finish: (@Sendable (RobotsFetch.Result) -> Void)?
    private var exchange: (any Exchange)?
    private let time: any TimeSource
    private var timer: (any Timer)?

    private static let connectTimeout: Int64 = 30_000_000_000
    /// The time for all requests and their responses, in nanoseconds.
    private static let timeout: Int64 = 60_000_000_000

    init(
        _ fetch: RobotsFetch,
        agent: String,
        addresses: AddressRule?,
        lane: Int,
        transport: any Transport,
        time: any TimeSource,
        _ finish: @escaping @Sendable (RobotsFetch.Result) -> Void
    ) {
        self.fetch = fetch
        self.agent = agent
        self.addresses = addresses
        self.lane = lane
        self.transport = transport
        self.time = time
        self.finish = finish
    }

    /// Sends the first request; called on the event loop.
    func begin() {
        self.timer = self.time.schedule(after: Self.timeout) {
            self.transport.execute(onLane: self.lane) { self.timeOut() }
        }
        self.send(self.fetch.first)
    }

    private func timeOut() {
        guard self.finish != nil else { return }
        let (exchange, origin) = (self.exchange, self.fetch.first.origin)
        var error = TransportError(.connectTimeout, "\(origin.host) does not respond to requests for its robots.txt")
        error.peer = origin
        self.end(.unavailable(error))
        exchange?.cancel()
    }

    private func send(_ url: HTTPURL) {
        var fields = HeaderFields()
        fields.append("User-Agent", self.agent)
        fields.append("Accept", "text/plain")
        var request = ExchangeRequest(url: url, fields: fields, connectTimeout: Self.connectTimeout)
        request.addresses = self.addresses
        self.exchange = self.transport.start(request, onLane: self.lane, receiver: self)
    }

    private func end(_ result: RobotsFetch.Result) {
        let finish = self.finish
        self.finish = nil
        self.exchange = nil
        self.timer?.cancel()
        self.timer = nil
        finish?(result)
    }

    func exchangeConnected() {}

    func exchangeReceived(head: ResponseHead) -> ReadDecision {
        switch self.fetch.received(head, wallNow: self.time.wallNow) {
        case .read: return .read
        case .request(let url):
            self.exchange = nil
            self.transport.execute(onLane: self.lane) { self.send(url) }
        case .finish(let result): self.end(result)
        }
        return .close
    }

    func exchangeReceived(body: UnsafeRawBufferPointer) -> ReadDecision {
        if self.fetch.received(body: body) { return .read }
        self.end(self.fetch.ended())
        return .close
    }

    func exchangeEnded(trailers: HeaderFields, cleanly: Bool) { self.end(self.fetch.ended()) }

    func exchangeFailed(_ error: TransportError) { self.end(.unavailable(error)) }
}
