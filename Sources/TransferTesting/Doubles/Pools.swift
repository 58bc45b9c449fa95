import Synchronization
public import TransferEngine

/// A pool that runs its work at once, on the caller's thread.
public struct InlinePool: BlockingPool {
    /// Creates a pool.
    public init() {}

    /// Runs `work` before it returns.
    public func run(_ work: @escaping @Sendable () -> Void) {
        work()
    }
}

/// A pool that runs its work when a test says so.
public final class ManualPool: BlockingPool {
    private let waiting = Mutex<[@Sendable () -> Void]>([])

    /// Creates an empty pool.
    public init() {}

    /// The pieces of work that wait.
    public var count: Int { self.waiting.withLock { $0.count } }

    /// Keeps `work` for later.
    public func run(_ work: @escaping @Sendable () -> Void) {
        self.waiting.withLock { $0.append(work) }
    }

    /// Runs the piece of work that has waited longest.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    public func runNext() -> Bool {
        let work = self.waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        work?()
        return work != nil
    }

    /// Runs pieces of work, also those that they add, until none waits.
    public func runAll() {
        while self.runNext() {}
    }
}
