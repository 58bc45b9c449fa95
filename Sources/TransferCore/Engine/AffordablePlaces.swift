// SPDX-License-Identifier: Apache-2.0
/// The number of transfers that may run at once for lack of file descriptors or ports.
///
/// Additive increase, multiplicative decrease: a shortage halves the number, transfers that finish raise it by one for
/// each complete round, and a period without a shortage doubles it. Pure value: times are nanoseconds of a monotonic
/// clock.
package struct AffordablePlaces: Hashable, Sendable {
    /// The time without a shortage after which the number is doubled, in nanoseconds.
    package static let period: Int64 = 10_000_000_000

    /// The number; `Int.max` without a shortage.
    package private(set) var count = Int.max
    /// The number of reductions: a transfer that started before the last one provides no new information.
    package private(set) var reductions: Int32 = 0
    /// The time of the next increase; valid only during a shortage.
    package private(set) var nextIncrease = Int64.min
    private var finished = 0

    /// Creates an unlimited number.
    package init() {}

    /// A transfer found no descriptor.
    ///
    /// - Parameters:
    ///   - start: The value of ``reductions`` when it started.
    ///   - running: The number of other transfers that run.
    ///   - now: The time.
    package mutating func fellShort(startedAt start: Int32, running: Int, now: Int64) {
        self.nextIncrease = now.adding(clamping: Self.period)
        self.finished = 0
        guard start == self.reductions || self.count == .max else { return }
        self.reductions &+= 1
        self.count = max(1, min(self.count, running + 1) / 2)
    }

    /// A transfer has finished: its descriptors are available again, and sufficed.
    ///
    /// - Parameter limit: The number at which the shortage ends.
    package mutating func transferFinished(limit: Int) {
        guard self.count != .max else { return }
        self.finished += 1
        guard self.finished >= self.count else { return }
        self.raise(to: self.count + 1, limit)
    }

    /// A time has come.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - limit: The number at which the shortage ends.
    /// - Returns: Whether there still is a shortage, and ``nextIncrease`` has changed.
    package mutating func timeReached(_ now: Int64, limit: Int) -> Bool {
        guard self.count != .max, now >= self.nextIncrease else { return false }
        self.nextIncrease = now.adding(clamping: Self.period)
        self.raise(to: 2 * self.count, limit)
        return self.count != .max
    }

    private mutating func raise(to count: Int, _ limit: Int) {
        self.count = count >= limit ? .max : count
        self.finished = 0
    }
}
