// SPDX-License-Identifier: Apache-2.0
/// Formats sizes, rates and times for people.
enum Quantity {
    /// Formats a number of bytes with three digits: `999 B`, `1.50 KiB`, `23.4 MiB`.
    static func bytes(_ count: Int64) -> String {
        let (number, unit) = self.scaled(Double(max(count, 0)))
        return number + " " + unit
    }

    /// Formats a part and a total in the total's unit: `12.3/45.6 MiB`.
    static func bytes(_ count: Int64, of total: Int64?) -> String {
        guard let total else { return self.bytes(count) }
        let (number, unit) = self.scaled(Double(max(total, 0)))
        let part = Double(max(count, 0)) / self.divisor(of: unit)
        return (unit == "B" ? "\(max(count, 0))" : self.digits(part)) + "/" + number + " " + unit
    }

    /// Formats a rate: `3.20 MiB/s`.
    static func rate(_ bytesPerSecond: Double) -> String {
        guard bytesPerSecond.isFinite, bytesPerSecond > 0 else { return "0 B/s" }
        let (number, unit) = self.scaled(bytesPerSecond)
        return number + " " + unit + "/s"
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
        return seconds < 60 ? self.digits(seconds) + " s" : self.time(seconds)
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

    /// Formats a number with three digits.
    private static func digits(_ number: Double) -> String {
        if number < 9.995 { return self.decimal(number, places: 2) }
        if number < 99.95 { return self.decimal(number, places: 1) }
        return self.decimal(number, places: 0)
    }

    private static func decimal(_ number: Double, places: Int) -> String {
        let scale = [1, 10, 100][places]
        let value = Int((number * Double(scale)).rounded())
        guard places > 0 else { return "\(value)" }
        let fraction = "\(value % scale)"
        return "\(value / scale)." + String(repeating: "0", count: places - fraction.count) + fraction
    }

    private static let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

    private static func scaled(_ count: Double) -> (number: String, unit: String) {
        var number = min(count, 0x1p63)
        var index = 0
        // From 999.5, three digits would round to 1000.
        while number >= 999.5 && index < self.units.count - 1 {
            number /= 1024
            index += 1
        }
        return (index == 0 ? "\(Int(number))" : self.digits(number), self.units[index])
    }

    private static func divisor(of unit: String) -> Double {
        Double(Int64(1) << Int64(10 * (self.units.firstIndex(of: unit) ?? 0)))
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

extension Int {
    /// The nearest number within the range.
    func clamped(to range: ClosedRange<Int>) -> Int { Swift.min(Swift.max(self, range.lowerBound), range.upperBound) }
}
