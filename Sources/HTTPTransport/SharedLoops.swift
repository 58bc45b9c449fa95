// SPDX-License-Identifier: Apache-2.0
package import NIOCore
internal import NIOPosix
internal import Synchronization

/// Event loops that several transports share, so that the threads exist only once.
///
/// Releasing the last reference stops the threads as well; an open connection holds a reference.
public final class SharedLoops: Sendable {
    let group: MultiThreadedEventLoopGroup
    /// Resolves the names for all connections.
    let names = NameResolver()
    private let hasEnded = Mutex(false)

    /// The number of event loops.
    public let laneCount: Int

    /// Starts the threads.
    ///
    /// - Parameter laneCount: The number of threads; at least one is started.
    public init(laneCount: Int) {
        self.laneCount = max(1, laneCount)
        self.group = MultiThreadedEventLoopGroup(numberOfThreads: self.laneCount)
    }

    /// One of the event loops, for another kind of connection.
    package var next: any EventLoop { self.group.next() }

    /// Creates a time source on one of the event loops, for a transport without one.
    package func makeTimeSource() -> NIOTimeSource { NIOTimeSource(loop: self.next, of: self) }

    /// Whether the caller is on an event loop, of these or any other, and therefore must not block.
    public static var isCurrentThread: Bool { MultiThreadedEventLoopGroup.currentEventLoop != nil }

    /// Runs work at the end of the current event loop's iteration; immediately if the caller is not on an event loop.
    ///
    /// This batches the events of many connections, so that another thread is woken only once per iteration.
    public static func afterThisRound(_ work: @escaping @Sendable () -> Void) {
        if let loop = MultiThreadedEventLoopGroup.currentEventLoop { loop.execute(work) } else { work() }
    }

    /// Whether the threads are stopping or have stopped.
    var isShutDown: Bool { self.hasEnded.withLock { $0 } }

    /// Runs work on one of the event loops, from any thread; after ``shutdown()`` the work is dropped.
    func execute(on loop: any EventLoop, _ work: @escaping @Sendable () -> Void) {
        self.hasEnded.withLock { if !$0 { loop.execute(work) } }
    }

    /// Stops the threads.
    ///
    /// - Precondition: The transports that share them are shut down.
    public func shutdown() async {
        guard self.end() else { return }
        try? await self.group.shutdownGracefully()
    }

    private func end() -> Bool {
        self.hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
    }

    deinit {
        guard self.end() else { return }
        // Not awaited: this may be one of the threads.
        self.group.shutdownGracefully { _ in }
    }
}
