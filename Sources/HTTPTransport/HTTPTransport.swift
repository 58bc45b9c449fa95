// SPDX-License-Identifier: Apache-2.0
public import TransferCore
public import TransferEngine

internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Sends requests by HTTP/1.1 over TCP and TLS, directly or through proxies.
///
/// The transport has a fixed number of event loops, its own or shared ones. Each has its own idle connections; the
/// event loops share only the TLS settings, and the count of open connections if that is limited.
///
/// A GET or HEAD without content is sent again, once and on a new connection, if its pooled connection breaks before
/// any byte of the response.
///
/// - Source: RFC 9112.
public final class HTTPTransport: Transport {
    private let loops: SharedLoops
    private let ownsLoops: Bool
    private let lanes: [TransportLoop]
    private let isShutDown = Mutex(false)

    /// Creates a transport with its own threads.
    ///
    /// - Throws: `TransportError` with the code `certificate` if the TLS settings are invalid.
    public convenience init(configuration: Configuration = Configuration()) throws(TransportError) {
        let tls = try TLSSettings(configuration.tls)
        let loops = SharedLoops(laneCount: configuration.laneCount)
        self.init(configuration, tls, on: loops, ownsLoops: true)
    }

    /// Creates a transport on shared threads.
    ///
    /// If it is released without `shutdown()`, it closes its idle connections, and each other connection when its
    /// exchange ends.
    ///
    /// - Parameters:
    ///   - configuration: The settings; its number of event loops is ignored in favour of `loops`.
    ///   - loops: The threads, which outlive the transport.
    /// - Throws: `TransportError` with the code `certificate` if the TLS settings are invalid.
    public convenience init(configuration: Configuration, on loops: SharedLoops) throws(TransportError) {
        self.init(configuration, try TLSSettings(configuration.tls), on: loops, ownsLoops: false)
    }

    private init(_ configuration: Configuration, _ tls: TLSSettings, on loops: SharedLoops, ownsLoops: Bool) {
        self.loops = loops
        self.ownsLoops = ownsLoops
        let open = OpenConnections(configuration.openConnections)
        self.lanes = loops.group.makeIterator()
            .map { loop in
                TransportLoop(loop: loop, of: loops, configuration: configuration, tls: tls, openConnections: open)
            }
    }

    /// The number of event loops.
    public var laneCount: Int { self.lanes.count }

    /// Runs `work` on an event loop: immediately if the caller is on it, otherwise asynchronously.
    public func execute(onLane lane: Int, _ work: @escaping @Sendable () -> Void) {
        let loop = self.lanes[lane].loop
        if loop.inEventLoop {
            work()
        } else {
            loop.execute(work)
        }
    }

    /// Starts a request.
    ///
    /// - Precondition: The caller is on the event loop with the number `lane`.
    public func start(
        _ request: consuming ExchangeRequest,
        onLane lane: Int,
        receiver: any ExchangeReceiver
    ) -> any Exchange {
        let lane = self.lanes[lane]
        lane.loop.preconditionInEventLoop()
        let exchange = HTTPExchange(request, lane: lane, receiver: receiver)
        exchange.start()
        return exchange
    }

    /// Closes all connections and stops the threads unless they are shared; running exchanges fail as cancelled.
    public func shutdown() async {
        let isFirst = self.isShutDown.withLock { isShutDown in
            defer { isShutDown = true }
            return !isShutDown
        }
        guard isFirst else { return }
        if !self.loops.isShutDown {
            for lane in self.lanes {
                // An event loop that has already stopped has nothing left to close.
                try? await lane.loop.submit { lane.shutDown() }.get()
            }
        }
        if self.ownsLoops { await self.loops.shutdown() }
    }

    /// Creates a time source on the first event loop, which needs no additional thread.
    public func makeTimeSource() -> NIOTimeSource {
        NIOTimeSource(loop: self.lanes[0].loop, of: self.loops)
    }

    deinit {
        guard !self.isShutDown.withLock({ $0 }), !self.loops.isShutDown else { return }
        for lane in self.lanes { lane.loop.execute { lane.abandon() } }
    }
}

extension HTTPTransport {
    /// The proxy for requests to a URL, or `nil`.
    public func proxy(for url: HTTPURL) -> Origin? { self.lanes[0].proxy(for: url) }
}
