/// Counts the attempts that a transfer has left and says how long to wait before the next.
///
/// Only a new high-water mark of kept, resumable bytes refills it, so a server that cuts every answer at the same
/// place comes to an end, while one that brings something new each time may go on for ever.
package struct RetryBudget: Sendable {
    /// The attempts beyond the first that may bring nothing new.
    package let retries: Int

    /// The attempts that failed since the last refill.
    package private(set) var failures = 0

    /// The most bytes that a later response went on from.
    package private(set) var highWater: Int64 = 0

    /// Creates a full budget.
    package init(retries: Int) {
        self.retries = retries
    }

    /// A response went on from this many kept bytes, or added to them where ranges are known to work.
    package mutating func kept(_ bytes: Int64) {
        guard bytes > self.highWater else { return }
        self.highWater = bytes
        self.failures = 0
    }

    /// An attempt failed.
    ///
    /// - Parameters:
    ///   - seconds: The time that the server asked to wait, or `nil`.
    ///   - jitter: A random number from 0 to 1.
    /// - Returns: The nanoseconds to wait before the next one, or `nil` where there is none left.
    package mutating func failed(retryAfter seconds: Int64?, jitter: Double) -> Int64? {
        guard self.failures < self.retries else { return nil }
        self.failures += 1
        if let seconds { return min(max(0, seconds), Self.longestRetryAfter) * 1_000_000_000 }
        // Full jitter: a crowd of clients that failed together does not come back together.
        let ceiling = min(Self.base << Int64(min(self.failures - 1, 16)), Self.cap)
        let least = Self.base / 10
        return least + Int64(Double(ceiling - least) * min(max(0, jitter), 1))
    }

    private static let base: Int64 = 500_000_000
    private static let cap: Int64 = 30_000_000_000
    /// Servers may ask for hours; nobody waits longer than this many seconds for one attempt.
    package static let longestRetryAfter: Int64 = 300
}
