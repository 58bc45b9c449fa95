// SPDX-License-Identifier: Apache-2.0
/// Formats durations for people.
package enum DurationFormat {
    /// The two largest units: `12s`, `3m05s`, `1h02m`, `2d03h`; a negative duration counts as zero.
    package static func compact(seconds: Int64) -> String {
        let seconds = max(0, seconds)
        switch seconds {
        case ..<60: return "\(seconds)s"
        case ..<3600: return "\(seconds / 60)m\(self.two(seconds % 60))s"
        case ..<86400: return "\(seconds / 3600)h\(self.two(seconds / 60 % 60))m"
        default: return "\(seconds / 86400)d\(self.two(seconds / 3600 % 24))h"
        }
    }

    /// The two largest units, rounded to the nearest second; below ten seconds with tenths: `0.3s`.
    package static func compact(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        if seconds >= 0, seconds < 10, attoseconds >= 0 {
            let tenths = seconds * 10 + (attoseconds + 50_000_000_000_000_000) / 100_000_000_000_000_000
            if tenths < 100 { return tenths % 10 == 0 ? "\(tenths / 10)s" : "\(tenths / 10).\(tenths % 10)s" }
        }
        let (rounded, overflow) = seconds.addingReportingOverflow(attoseconds >= 500_000_000_000_000_000 ? 1 : 0)
        return self.compact(seconds: overflow ? seconds : rounded)
    }

    private static func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
}
