// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// Counts down to the last of several callbacks.
final class Countdown: Sendable {
    private let left: Mutex<Int>

    init(_ count: Int) { self.left = Mutex(count) }

    /// Counts a call; returns whether it was the last one.
    func isLast() -> Bool {
        self.left.withLock { left in
            left -= 1
            return left == 0
        }
    }
}
