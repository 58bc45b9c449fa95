// SPDX-License-Identifier: Apache-2.0
internal import Concurrency

/// Runs blocking operations on a pool, one at a time, in order.
final class OperationLine: Sendable {
    private let pool: any BlockingPool
    private let drain = SerialDrain<@Sendable () -> Void>()

    init(on pool: any BlockingPool) { self.pool = pool }

    /// Whether an operation is running or waiting.
    var isBusy: Bool { self.drain.isActive }

    func run(_ operation: @escaping @Sendable () -> Void) {
        if self.drain.append(operation) { self.pool.run { self.drain.run { $0() } } }
    }
}
