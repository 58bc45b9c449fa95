// SPDX-License-Identifier: Apache-2.0
import Synchronization
public import TransferEngine

/// A pool that runs work immediately, on the caller's thread.
public struct InlinePool: BlockingPool {
    /// Creates a pool.
    public init() {}

    /// Runs `work` before it returns.
    public func run(_ work: @escaping @Sendable () -> Void) {
        work()
    }
}

/// A pool that runs work when a test calls ``runNext()`` or ``runAll()``.
public final class ManualPool: BlockingPool {
    private let waiting = Mutex<[@Sendable () -> Void]>([])

    /// Creates an empty pool.
    public init() {}

    /// The number of pending closures.
    public var count: Int { self.waiting.withLock { $0.count } }

    /// Enqueues `work`.
    public func run(_ work: @escaping @Sendable () -> Void) {
        self.waiting.withLock { $0.append(work) }
    }

    /// Runs the first pending closure.
    ///
    /// - Returns: Whether a closure was pending.
    @discardableResult
    public func runNext() -> Bool {
        let work = self.waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        work?()
        return work != nil
    }

    /// Runs pending closures, including those that they add, until none is left.
    public func runAll() {
        while self.runNext() {}
    }
}
