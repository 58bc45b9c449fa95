public import TransferEngine

internal import NIOPosix

/// Runs blocking work on a few threads of its own.
public final class NIOBlockingPool: BlockingPool {
    private let pool: NIOThreadPool

    /// Starts the threads.
    public init(threadCount: Int = 2) {
        self.pool = NIOThreadPool(numberOfThreads: max(1, threadCount))
        self.pool.start()
    }

    /// Runs `work` soon on one of the threads.
    public func run(_ work: @escaping @Sendable () -> Void) {
        // Work that a shutdown overtakes runs as well: whoever waits for it must hear of its end.
        self.pool.submit { _ in work() }
    }

    /// Ends the threads when what they run is done.
    public func shutdown() async {
        try? await self.pool.shutdownGracefully()
    }
}
