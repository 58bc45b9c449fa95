package import NIOCore
internal import NIOPosix
internal import Synchronization

/// Event loops for several transports: threads that cost once what every transport would cost.
///
/// Whoever lets go of the last reference ends the threads as well, unless a connection is still open.
public final class SharedLoops: Sendable {
    let group: MultiThreadedEventLoopGroup
    private let hasEnded = Mutex(false)

    /// The number of event loops, and so of the lanes of a transport that shares them.
    public let laneCount: Int

    /// Starts the threads.
    ///
    /// - Parameter laneCount: The number of threads; at least one is started.
    public init(laneCount: Int) {
        self.laneCount = max(1, laneCount)
        self.group = MultiThreadedEventLoopGroup(numberOfThreads: self.laneCount)
    }

    /// One of the loops, for a connection of another kind.
    package var next: any EventLoop { self.group.next() }

    /// Whether the caller is on an event loop, of these or any other: where it must not block.
    public static var isCurrentThread: Bool { MultiThreadedEventLoopGroup.currentEventLoop != nil }

    /// Runs work once the event loop that the caller is on, if any, has done what it is at; elsewhere at once.
    ///
    /// What many connections tell in one round of a loop can so be passed on with one wake-up of another thread.
    public static func afterThisRound(_ work: @escaping @Sendable () -> Void) {
        if let loop = MultiThreadedEventLoopGroup.currentEventLoop { loop.execute(work) } else { work() }
    }

    /// Whether the threads end or have ended.
    var isShutDown: Bool { self.hasEnded.withLock { $0 } }

    /// Runs work on one of the loops, from any thread; once the threads end, nobody waits for it and it is dropped.
    func execute(on loop: any EventLoop, _ work: @escaping @Sendable () -> Void) {
        self.hasEnded.withLock { if !$0 { loop.execute(work) } }
    }

    /// Ends the threads; the transports that share them must have been shut down before.
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
        // Not waited for: this may be one of the threads.
        self.group.shutdownGracefully { _ in }
    }
}
