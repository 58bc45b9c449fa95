// SPDX-License-Identifier: Apache-2.0
/// Counts the remaining attempts of a transfer and computes the delay before the next one.
///
/// Only a new maximum of kept, resumable bytes refills it. A server that cuts every response at the same position uses
/// up the budget; a transfer that makes progress with each attempt may be retried without limit.
package struct RetryBudget: Sendable {
    /// The maximum number of retries without progress.
    package let retries: Int

    /// The number of attempts that failed since the last refill.
    package private(set) var failures = 0

    /// The maximum number of bytes from which a later response continued.
    package private(set) var highWater: Int64 = 0

    /// Creates a full budget.
    package init(retries: Int) {
        self.retries = retries
    }

    /// A response continued from this many kept bytes, or added to them if ranges are known to work.
    package mutating func kept(_ bytes: Int64) {
        guard bytes > self.highWater else { return }
        self.highWater = bytes
        self.failures = 0
    }

    /// An attempt failed.
    ///
    /// - Parameters:
    ///   - seconds: The delay requested by the server, or `nil`.
    ///   - longest: The maximum of this delay, in seconds.
    ///   - jitter: A random number from 0 to 1.
    /// - Returns: The delay before the next attempt in nanoseconds, or `nil` if none is left.
    package mutating func failed(
        retryAfter seconds: Int64?,
        longest: Int64 = Self.longestRetryAfter,
        jitter: Double
    ) -> Int64? {
        guard self.failures < self.retries else { return nil }
        self.failures += 1
        if let seconds { return min(max(0, seconds), longest) * 1_000_000_000 }
        // Full jitter: many clients that failed at the same time do not retry at the same time.
        let ceiling = min(Self.base << Int64(min(self.failures - 1, 16)), Self.cap)
        let least = Self.base / 10
        return least + Int64(Double(ceiling - least) * min(max(0, jitter), 1))
    }

    /// Returns the retry of an attempt that turned out to have failed in an outage.
    package mutating func refund() { self.failures = max(0, self.failures - 1) }

    /// Counts an attempt that failed in an outage, but never uses up the last retry.
    package mutating func probed() { if self.failures + 1 < self.retries { self.failures += 1 } }

    /// The number of consecutive delays requested by a server that use up no retries.
    package static let longestWaits = 30

    /// The minimum of a requested delay after several in a row, in seconds: a server that asks for 0 or 1 s again and
    /// again, because it accepts no more connections for now, is given time.
    ///
    /// - Parameter waits: The number of consecutive requested delays before this one.
    /// - Returns: 0 for the first three, then 2 s, doubled up to one minute.
    package static func leastWait(after waits: Int) -> Int64 {
        waits < 3 ? 0 : min(2 << Int64(min(waits - 3, 6)), 60)
    }

    private static let base: Int64 = 500_000_000
    private static let cap: Int64 = 30_000_000_000
    /// Servers may request hours; unless a caller permits that, one delay has at most this many seconds.
    package static let longestRetryAfter: Int64 = 300
}
