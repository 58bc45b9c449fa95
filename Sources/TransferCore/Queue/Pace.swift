// SPDX-License-Identifier: Apache-2.0
/// Limits how often something happens in a period.
///
/// Pure value: the time is an argument, in nanoseconds of a monotonic clock.
package struct Pace: Hashable, Sendable {
    private let limit: Int
    private let period: Int64
    private var begin: Int64?
    private var count = 0

    /// Creates a limit of `limit` times per period, in nanoseconds.
    package init(limit: Int, period: Int64) {
        self.limit = limit
        self.period = period
    }

    /// Whether it may happen now; if so, it is counted.
    package mutating func allows(at now: Int64) -> Bool {
        if let begin = self.begin, now < begin + self.period {
            guard self.count < self.limit else { return false }
        } else {
            self.begin = now
            self.count = 0
        }
        self.count += 1
        return true
    }

    /// The time at which it may happen again, if it may not now.
    package func time(after now: Int64) -> Int64 { max(now, (self.begin ?? now) + self.period) }
}
