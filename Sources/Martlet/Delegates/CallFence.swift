// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// Calls a closure after a number of arrivals, on the thread of the last one.
final class CallFence: Sendable {
    private let remaining: Atomic<Int>
    private let end: @Sendable () -> Void

    /// - Precondition: `count` is at least 1.
    init(_ count: Int, _ end: @escaping @Sendable () -> Void) {
        self.remaining = Atomic(count)
        self.end = end
    }

    func arrived() {
        if self.remaining.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { self.end() }
    }
}
