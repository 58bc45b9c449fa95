// SPDX-License-Identifier: Apache-2.0
/// Formats and parses numbers of bytes for people.
public enum ByteCount {
    private static let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

    /// The number with at most three digits and a binary unit: `999 B`, `0.98 KiB`, `1.50 KiB`, `15.0 MiB`, `150 GiB`.
    ///
    /// The one format of sizes that Martlet itself shows to people: in the command line, in logs and on its pages.
    public static func binary(_ bytes: Int64) -> String {
        let (number, unit) = self.scaled(Double(bytes.magnitude))
        return (bytes < 0 ? "-" : "") + number + " " + self.units[unit]
    }

    /// The rate in the format of ``binary(_:)``: `3.20 MiB/s`.
    ///
    /// - Parameter bytesPerSecond: The rate; negative values and NaN count as 0.
    /// - Returns: The text.
    package static func binaryRate(_ bytesPerSecond: Double) -> String {
        let (number, unit) = self.scaled(bytesPerSecond > 0 ? bytesPerSecond : 0)
        return number + " " + self.units[unit] + "/s"
    }

    /// A part and a total, both in the total's unit: `12.3/45.6 MiB`.
    package static func binary(_ part: Int64, of total: Int64) -> String {
        let (number, unit) = self.scaled(Double(max(0, total)))
        let part = max(0, part)
        let share = unit == 0 ? "\(part)" : ThreeDigits.text(Double(part) / Double(Int64(1) << Int64(10 * unit)))
        return share + "/" + number + " " + self.units[unit]
    }

    private static func scaled(_ count: Double) -> (number: String, unit: Int) {
        var number = min(count, 0x1p63)
        var unit = 0
        // From 999.5, three digits would round to 1000.
        while number >= 999.5 && unit < self.units.count - 1 {
            number /= 1024
            unit += 1
        }
        return (unit == 0 ? "\(Int(number.rounded(.down)))" : ThreeDigits.text(number), unit)
    }

    private static func two(_ value: UInt64) -> String { value < 10 ? "0\(value)" : "\(value)" }

    /// Parses `10K`, `1.5M`, `2 GiB`; K, M, G, T, P and E are powers of 1024.
    ///
    /// - Returns: The number of bytes, rounded down; `nil` if the text is malformed or the number does not fit.
    public static func parse(_ text: String) -> Int64? {
        var rest = text.utf8.filter { $0 != 0x20 }.map(ASCII.lowercase)[...]
        let letters = Array("kmgtpe".utf8)
        var shift = 0
        if rest.last == 0x62 { rest.removeLast() }
        if rest.last == 0x69, rest.count > 1, letters.contains(rest[rest.endIndex - 2]) { rest.removeLast() }
        if let last = rest.last, let index = letters.firstIndex(of: last) {
            shift = (index + 1) * 10
            rest.removeLast()
        }
        let parts = rest.split(separator: 0x2E, maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let whole = DecimalNumber.parse(first.isEmpty ? [0x30] : first),
            !first.isEmpty || parts.count == 2
        else { return nil }
        let (product, overflow) = whole.multipliedReportingOverflow(by: 1 << Int64(shift))
        guard !overflow else { return nil }
        guard parts.count == 2 else { return product }
        guard parts[1].allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), !(first.isEmpty && parts[1].isEmpty) else {
            return nil
        }
        let digits = parts[1].prefix(18)
        guard let fraction = digits.isEmpty ? 0 : DecimalNumber.parse(digits) else { return nil }
        var scale: UInt64 = 1
        for _ in digits { scale *= 10 }
        let wide = UInt64(fraction).multipliedFullWidth(by: 1 << UInt64(shift))
        let more = scale.dividingFullWidth(wide).quotient
        let (sum, sumOverflow) = product.addingReportingOverflow(Int64(more))
        return sumOverflow ? nil : sum
    }
}

extension ByteCount {
    /// The size of a kilobyte.
    public enum Base: UInt64, Hashable, Sendable {
        case decimal = 1000
        case binary = 1024
    }

    private static let compactUnits = ["B", "KB", "MB", "GB", "TB"]

    /// The number with two decimals and a unit up to terabytes, without a space.
    ///
    /// - Parameters:
    ///   - bytes: The number; may be negative.
    ///   - base: The size of a kilobyte.
    /// - Returns: `1023B`, `1.50KB`, `2.00TB`; a number that rounds up to the next unit uses that unit.
    public static func compact(_ bytes: Int64, base: Base = .binary) -> String {
        let sign = bytes < 0 ? "-" : ""
        let magnitude = bytes.magnitude
        guard magnitude >= base.rawValue else { return "\(sign)\(magnitude)B" }
        var unit = 1
        var scale = base.rawValue
        while unit < 4, self.rounded(magnitude, scale) >= base.rawValue * 100 {
            unit += 1
            scale *= base.rawValue
        }
        let hundredths = self.rounded(magnitude, scale)
        return "\(sign)\(hundredths / 100).\(self.two(hundredths % 100))\(self.compactUnits[unit])"
    }

    /// The rate with two decimals and a unit up to terabytes, without a space.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: The rate; negative values and NaN count as 0, infinity as the largest rate.
    ///   - base: The size of a kilobyte.
    /// - Returns: `512B/s`, `1.50MB/s`.
    public static func compactRate(_ bytesPerSecond: Double, base: Base = .binary) -> String {
        let rate = bytesPerSecond > 0 ? bytesPerSecond : 0
        return self.compact(rate < 0x1p63 ? Int64(rate + 0.5) : .max, base: base) + "/s"
    }

    /// Hundredths of a unit, rounded half up; the scale is at most 2^40, so that nothing overflows.
    private static func rounded(_ magnitude: UInt64, _ scale: UInt64) -> UInt64 {
        magnitude / scale * 100 + (magnitude % scale * 100 + scale / 2) / scale
    }
}

/// Formats numbers with three digits: `9.99`, `12.3`, `123`.
package enum ThreeDigits {
    /// The text of a number of at least 0.
    package static func text(_ number: Double) -> String {
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
}
