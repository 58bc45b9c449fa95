// SPDX-License-Identifier: Apache-2.0
/// Detects a transfer that has been below its lowest speed for ten seconds.
///
/// Pure value; the time in seconds is an argument.
struct SpeedWatch: Sendable {
    /// The lowest allowed rate in bytes per second.
    let lowest: Int64
    private var slowSince: Double?

    static let patience = 10.0

    init(lowest: Int64) { self.lowest = lowest }

    /// Records a sample of the rate in bytes per second.
    ///
    /// - Returns: Whether the transfer is too slow.
    mutating func sample(rate: Int64, at now: Double) -> Bool {
        guard rate < self.lowest else {
            self.slowSince = nil
            return false
        }
        guard let since = self.slowSince else {
            self.slowSince = now
            return false
        }
        return now - since >= Self.patience
    }
}
