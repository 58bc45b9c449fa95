// SPDX-License-Identifier: Apache-2.0
/// Parses the dates of cookies, which have more formats than HTTP's own.
///
/// - Source: RFC 6265bis §5.1.1.
package enum CookieDate {
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
    private static let lengths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

    /// The seconds since 1970, or `nil` if a time, a day, a month or a year is missing or invalid.
    ///
    /// All other text is ignored, including time zones: every date is in UTC.
    package static func parse(_ text: String) -> Int64? { self.parse(text.utf8) }

    static func parse(_ bytes: some Sequence<UInt8>) -> Int64? {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?
        for token in Array(bytes).split(whereSeparator: self.isDelimiter) {
            if time == nil, let found = self.time(token) {
                time = found
            } else if day == nil, let found = self.number(token, 1...2) {
                day = found
            } else if month == nil, let found = self.month(token) {
                month = found
            } else if year == nil, let found = self.number(token, 2...4) {
                year = found
            }
        }
        guard let time, let day, let month, var year, time.hour < 24, time.minute < 60, time.second < 60 else {
            return nil
        }
        if year < 70 {
            year += 2000
        } else if year < 100 {
            year += 1900
        }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        guard year >= 1601, day >= 1, day <= self.lengths[month], isLeap || month != 1 || day < 29 else { return nil }
        let days = HTTPDate.days(year, month + 1, day)
        return Int64(days) * 86400 + Int64(time.hour * 3600 + time.minute * 60 + time.second)
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// The number at the start of a token, if it has that many digits and no more.
    private static func number(_ token: ArraySlice<UInt8>, _ width: ClosedRange<Int>) -> Int? {
        let digits = token.prefix { $0 >= 0x30 && $0 <= 0x39 }
        guard width.contains(digits.count) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func time(_ token: ArraySlice<UInt8>) -> (hour: Int, minute: Int, second: Int)? {
        let fields = token.split(separator: 0x3A, maxSplits: 2, omittingEmptySubsequences: false)
        guard fields.count == 3, let hour = self.number(fields[0], 1...2), fields[0].count <= 2,
            let minute = self.number(fields[1], 1...2), fields[1].count <= 2,
            let second = self.number(fields[2], 1...2)
        else { return nil }
        // The number parsed by `number` must be the whole field, except for text after the seconds.
        let isWhole = fields[..<2].allSatisfy { $0.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } }
        return isWhole ? (hour, minute, second) : nil
    }

    private static func month(_ token: ArraySlice<UInt8>) -> Int? {
        let name = token.prefix(3).map(ASCII.lowercase)
        return self.months.firstIndex { $0.utf8.elementsEqual(name) }
    }
}
