// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// Formats sizes, rates and times for people.
enum Quantity {
    /// Formats a number of bytes with three digits: `999 B`, `1.50 KiB`, `23.4 MiB`.
    static func bytes(_ count: Int64) -> String { ByteCount.binary(max(0, count)) }

    /// Formats a part and a total in the total's unit: `12.3/45.6 MiB`.
    static func bytes(_ count: Int64, of total: Int64?) -> String {
        total.map { ByteCount.binary(count, of: $0) } ?? self.bytes(count)
    }

    /// Formats a rate: `3.20 MiB/s`; one that is not finite is 0.
    static func rate(_ bytesPerSecond: Double) -> String {
        ByteCount.binaryRate(bytesPerSecond.isFinite ? bytesPerSecond : 0)
    }

    /// Formats a time: `0:07`, `12:05`, `3:02:01`, `4d 03h`; `--:--` if it is unknown.
    static func time(_ seconds: Double?) -> String {
        guard let seconds, seconds.isFinite, seconds >= 0, seconds < 100 * 86400 else { return "--:--" }
        let whole = Int(seconds.rounded())
        let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60)
        if hours >= 48 { return "\(hours / 24)d " + self.two(hours % 24) + "h" }
        if hours > 0 { return "\(hours):" + self.two(minutes) + ":" + self.two(rest) }
        return "\(minutes):" + self.two(rest)
    }

    /// Formats an elapsed time: `0.42 s`, `12.3 s`, `2:05`.
    static func elapsed(_ duration: Duration) -> String {
        let seconds = self.seconds(duration)
        return seconds < 60 ? ThreeDigits.text(seconds) + " s" : self.time(seconds)
    }

    /// The share in whole percent, rounded down, so that 100 means complete.
    static func percent(_ count: Int64, of total: Int64?) -> Int? {
        guard let total, total > 0 else { return nil }
        return Int(min(100, (Double(max(count, 0)) / Double(total) * 100).rounded(.down)))
    }

    /// Converts a duration to seconds.
    static func seconds(_ duration: Duration) -> Double {
        let (seconds, attoseconds) = duration.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    /// Converts a duration to nanoseconds; at most about 292 years.
    static func nanoseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        return min(seconds, Int64.max / 1_000_000_000 - 86_400) * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

extension Int {
    /// The nearest number within the range.
    func clamped(to range: ClosedRange<Int>) -> Int { Swift.min(Swift.max(self, range.lowerBound), range.upperBound) }
}
