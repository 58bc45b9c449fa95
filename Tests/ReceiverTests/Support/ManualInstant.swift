// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// An instant that tests advance.
final class ManualInstant: Sendable {
    private let instant = Mutex(ContinuousClock.now)

    /// Reads it.
    var read: @Sendable () -> ContinuousClock.Instant { { self.instant.withLock { $0 } } }

    /// Advances it.
    func advance(by time: Duration) { self.instant.withLock { $0 += time } }
}
