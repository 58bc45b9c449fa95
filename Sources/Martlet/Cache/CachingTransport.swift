// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Logging
internal import TransferCore
internal import TransferEngine

/// A transport with a response cache in front of it.
///
/// Only exchanges of data tasks are answered from the cache; every exchange with an unsafe method removes the responses
/// that it makes invalid.
final class CachingTransport: Transport {
    let network: any Transport
    let cache: ResponseCache
    let logger: Logger?
    /// The certificates that the session trusts.
    ///
    /// Responses of another session are used only if it trusts the same ones.
    let trust: CacheTrust

    init(_ network: any Transport, _ cache: ResponseCache, _ logger: Logger?, _ tls: TLSOptions) {
        self.network = network
        self.cache = cache
        self.logger = logger
        self.trust = CacheTrust(tls)
    }

    var laneCount: Int { self.network.laneCount }

    func execute(onLane lane: Int, _ work: @escaping @Sendable () -> Void) {
        self.network.execute(onLane: lane, work)
    }

    func proxy(for url: HTTPURL) -> Origin? { self.network.proxy(for: url) }

    func start(_ request: ExchangeRequest, onLane lane: Int, receiver: any ExchangeReceiver) -> any Exchange {
        let isUnsafe = !["GET", "HEAD", "OPTIONS", "TRACE"].contains(request.method)
        let receiver = isUnsafe ? InvalidatingReceiver(receiver, self.cache, request.url) : receiver
        guard let policy = request.cachePolicy else {
            return self.network.start(request, onLane: lane, receiver: receiver)
        }
        let exchange = CachingExchange(self, request, policy, lane: lane, receiver: receiver)
        exchange.begin()
        return exchange
    }

    func shutdown() async { await self.network.shutdown() }
}
