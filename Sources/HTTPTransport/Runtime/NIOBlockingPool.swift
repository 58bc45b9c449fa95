// SPDX-License-Identifier: Apache-2.0
public import TransferEngine

internal import NIOPosix

/// Runs blocking work on a small, separate pool of threads.
public final class NIOBlockingPool: BlockingPool {
    private let pool: NIOThreadPool

    /// Starts the threads.
    public init(threadCount: Int = 2) {
        self.pool = NIOThreadPool(numberOfThreads: max(1, threadCount))
        self.pool.start()
    }

    /// Runs `work` asynchronously on one of the threads.
    public func run(_ work: @escaping @Sendable () -> Void) {
        // Work is also run during a shutdown, because its caller waits for its completion.
        self.pool.submit { _ in work() }
    }

    /// Stops the threads after the submitted work has finished.
    public func shutdown() async {
        try? await self.pool.shutdownGracefully()
    }
}
