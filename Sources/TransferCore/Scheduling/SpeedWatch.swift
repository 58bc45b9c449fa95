// SPDX-License-Identifier: Apache-2.0
/// The lowest rate at which a transfer may run.
package struct SpeedFloor: Sendable, Hashable {
    /// The rate in bytes per second.
    package var rate: Int64
    /// The time over which the rate is averaged, in nanoseconds.
    package var window: Int64

    /// Creates a floor, or none if the rate or the window is not positive.
    package init?(rate: Int64, window: Int64) {
        guard rate > 0, window > 0 else { return nil }
        self.rate = rate
        self.window = window
    }

    /// The failure of a transfer that was slower.
    var failure: TransferFailure {
        let span = DurationFormat.compact(.nanoseconds(self.window))
        return TransferFailure(
            .tooSlow,
            "slower than \(ByteCount.binaryRate(Double(self.rate))) for \(span)",
            setting: .lowestRate
        )
    }
}

/// Detects a transfer that is slower than its floor.
///
/// Pure value. The time is divided into windows that follow each other without a gap; a transfer is too slow if fewer
/// bytes than the floor allows arrived in one of them. So a transfer that stays below the floor is found after at most
/// two windows. A window in which it waited for us is not judged: see ``restart()``.
package struct SpeedWatch: Sendable {
    private var begin: (time: Int64, bytes: Int64)?

    package init() {}

    /// Begins a new window at the next observation.
    package mutating func restart() { self.begin = nil }

    /// Observes a count that grows.
    ///
    /// - Parameters:
    ///   - bytes: The number of bytes transferred.
    ///   - now: The time, in nanoseconds.
    ///   - floor: The lowest rate.
    /// - Returns: Whether the transfer was slower in the window that ends now; a new one begins then.
    package mutating func isTooSlow(_ bytes: Int64, at now: Int64, floor: SpeedFloor) -> Bool {
        guard let begin = self.begin else {
            self.begin = (now, bytes)
            return false
        }
        let time = now - begin.time
        guard time >= floor.window else { return false }
        self.begin = (now, bytes)
        return Double(bytes - begin.bytes) * 1e9 < Double(floor.rate) * Double(time)
    }
}
