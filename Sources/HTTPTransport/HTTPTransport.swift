public import TransferCore
public import TransferEngine

internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Speaks HTTP/1.1 over TCP and TLS, directly or through proxies, on event loops of its own or shared ones.
///
/// Each lane is one event loop with its own idle connections; nothing is shared between lanes but the TLS settings.
///
/// A GET or HEAD without content whose pooled connection breaks before any byte of the response is sent again once on a
/// fresh one.
///
/// - Source: RFC 9112.
public final class HTTPTransport: Transport {
    private let loops: SharedLoops
    private let ownsLoops: Bool
    private let lanes: [Lane]
    private let isShutDown = Mutex(false)

    /// Makes a transport with threads of its own.
    ///
    /// - Throws: `TransportError` with the code `certificate` where the TLS settings cannot be used.
    public convenience init(configuration: Configuration = Configuration()) throws(TransportError) {
        let tls = try TLSSettings(configuration.tls)
        let loops = SharedLoops(laneCount: configuration.laneCount)
        self.init(configuration, tls, on: loops, ownsLoops: true)
    }

    /// Makes a transport on threads that it shares with others.
    ///
    /// One that is let go of without `shutdown()` closes its unused connections, and each other one when its exchange
    /// is over.
    ///
    /// - Parameters:
    ///   - configuration: The settings; the number of lanes is that of the loops.
    ///   - loops: The threads, which outlive the transport.
    /// - Throws: `TransportError` with the code `certificate` where the TLS settings cannot be used.
    public convenience init(configuration: Configuration, on loops: SharedLoops) throws(TransportError) {
        self.init(configuration, try TLSSettings(configuration.tls), on: loops, ownsLoops: false)
    }

    private init(_ configuration: Configuration, _ tls: TLSSettings, on loops: SharedLoops, ownsLoops: Bool) {
        self.loops = loops
        self.ownsLoops = ownsLoops
        self.lanes = loops.group.makeIterator()
            .map { loop in Lane(loop: loop, of: loops, configuration: configuration, tls: tls) }
    }

    /// The number of event loops.
    public var laneCount: Int { self.lanes.count }

    /// Runs `work` on a lane: at once where the caller is on it already, otherwise soon.
    public func execute(onLane lane: Int, _ work: @escaping @Sendable () -> Void) {
        let loop = self.lanes[lane].loop
        if loop.inEventLoop {
            work()
        } else {
            loop.execute(work)
        }
    }

    /// Begins one request and its response.
    ///
    /// - Precondition: The caller is on `lane`.
    public func start(
        _ request: ExchangeRequest,
        onLane lane: Int,
        receiver: any ExchangeReceiver
    ) -> any Exchange {
        let lane = self.lanes[lane]
        lane.loop.preconditionInEventLoop()
        let exchange = HTTPExchange(request, lane: lane, receiver: receiver)
        exchange.start()
        return exchange
    }

    /// Closes every connection, and ends the threads unless they are shared; exchanges still running fail as cancelled.
    public func shutdown() async {
        let isFirst = self.isShutDown.withLock { isShutDown in
            defer { isShutDown = true }
            return !isShutDown
        }
        guard isFirst else { return }
        if !self.loops.isShutDown {
            for lane in self.lanes {
                // A loop that is gone already has nothing left to close.
                try? await lane.loop.submit { lane.shutDown() }.get()
            }
        }
        if self.ownsLoops { await self.loops.shutdown() }
    }

    /// A time source on the first lane's loop, so that it costs no thread of its own.
    public func makeTimeSource() -> NIOTimeSource {
        NIOTimeSource(loop: self.lanes[0].loop, of: self.loops)
    }

    deinit {
        guard !self.isShutDown.withLock({ $0 }), !self.loops.isShutDown else { return }
        for lane in self.lanes { lane.loop.execute { lane.abandon() } }
    }
}

extension HTTPTransport {
    /// The proxy through which a URL is requested, if any.
    public func proxy(for url: HTTPURL) -> Origin? { self.lanes[0].proxy(for: url) }
}
