public import TransferEngine

internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Speaks HTTP/1.1 over TCP and TLS on event loops of its own.
///
/// Each lane is one event loop with its own idle connections; nothing is shared between lanes but the TLS settings.
///
/// A GET or HEAD whose pooled connection breaks before any byte of the response is sent again once on a fresh one.
///
/// - Source: RFC 9112.
public final class HTTPTransport: Transport {
    private let group: MultiThreadedEventLoopGroup
    private let lanes: [Lane]
    private let isShutDown = Mutex(false)

    /// Starts the lanes' threads.
    ///
    /// - Throws: `TransportError` with the code `certificate` where the file of trusted certificates cannot be used.
    public init(configuration: Configuration = Configuration()) throws(TransportError) {
        let tls = try TLSSettings(configuration)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: max(1, configuration.laneCount))
        self.group = group
        self.lanes = group.makeIterator().map { loop in Lane(loop: loop, configuration: configuration, tls: tls) }
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

    /// Closes every connection and ends the threads; exchanges still running fail as cancelled.
    public func shutdown() async {
        let isFirst = self.isShutDown.withLock { isShutDown in
            defer { isShutDown = true }
            return !isShutDown
        }
        guard isFirst else { return }
        for lane in self.lanes {
            // A loop that is gone already has nothing left to close.
            try? await lane.loop.submit { lane.shutDown() }.get()
        }
        try? await self.group.shutdownGracefully()
    }

    /// A time source on the first lane's loop, so that it costs no thread of its own.
    public func makeTimeSource() -> NIOTimeSource {
        NIOTimeSource(loop: self.lanes[0].loop)
    }
}
