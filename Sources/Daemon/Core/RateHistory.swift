// SPDX-License-Identifier: Apache-2.0

/// The total rate of all transfers during the last ten minutes, for plots.
///
/// Pure value: each slot of ``interval`` seconds has the mean of its samples, and 0 if it has none.
package struct RateHistory: Sendable, Hashable {
    /// The length of a slot in seconds.
    package static let interval: Int64 = 2
    /// The number of slots.
    package static let count = 300

    /// The rates of complete slots, in bytes per second; a ring that begins at ``next``.
    private var ring = [Int64](repeating: 0, count: Self.count)
    private var next = 0
    /// The number of the current slot, its samples and their sum.
    private var slot: Int64 = 0
    private var samples: Int64 = 0
    private var sum: Int64 = 0

    /// Creates a history without transfers.
    package init() {}

    /// Adds a sample.
    ///
    /// - Parameters:
    ///   - rate: The rate in bytes per second.
    ///   - uptime: Nanoseconds since the start, not less than those of the sample before.
    mutating func sampled(_ rate: Int64, at uptime: Int64) {
        let slot = uptime / (Self.interval * 1_000_000_000)
        if slot > self.slot {
            self.append(self.samples > 0 ? self.sum / self.samples : 0)
            for _ in 0..<min(Int(clamping: slot - self.slot - 1), Self.count) { self.append(0) }
            (self.slot, self.samples, self.sum) = (slot, 0, 0)
        }
        // Rates are at most 1e15, and a slot has tens of samples.
        self.sum &+= min(max(0, rate), 1 << 50)
        self.samples += 1
    }

    /// The rates of complete slots in bytes per second, the oldest first.
    package var rates: [Int64] { Array(self.ring[self.next...] + self.ring[..<self.next]) }

    private mutating func append(_ rate: Int64) {
        self.ring[self.next] = rate
        self.next = (self.next + 1) % Self.count
    }
}
