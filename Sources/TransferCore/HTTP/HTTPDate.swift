// SPDX-License-Identifier: Apache-2.0
/// Parses and formats the dates of header fields.
///
/// - Source: RFC 9110 §5.6.7.
package enum HTTPDate {
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The seconds since 1970 of a date in any of the three forms, or `nil` if it is malformed.
    ///
    /// The weekday is not compared with the date. A year of two digits (RFC 850) is in 1970 to 2069, because there is
    /// no clock here to choose the nearer century.
    package static func parse(_ field: String) -> Int64? {
        if let seconds = self.fixed(field) { return seconds }
        let words = field.utf8.split { $0 == 0x20 || $0 == 0x2C || $0 == 0x09 }
        switch words.count {
        case 6 where self.isZone(words[5]):  // Sun, 06 Nov 1994 08:49:37 GMT
            guard let year = self.number(words[3], 4...4) else { return nil }
            return self.seconds(year, words[2], words[1], words[4])
        case 4 where self.isZone(words[3]):  // Sunday, 06-Nov-94 08:49:37 GMT
            let date = words[1].split(separator: 0x2D, omittingEmptySubsequences: false)
            guard date.count == 3, let year = self.number(date[2], 2...4), date[2].count != 3 else { return nil }
            let century = date[2].count == 4 ? 0 : year < 70 ? 2000 : 1900
            return self.seconds(century + year, date[1], date[0], words[2])
        case 5:  // Sun Nov  6 08:49:37 1994
            guard let year = self.number(words[4], 4...4) else { return nil }
            return self.seconds(year, words[1], words[2], words[3])
        default: return nil
        }
    }

    /// Parses in place the form that all current servers send; `nil` leaves the rest to the tolerant parser.
    private static func fixed(_ field: String) -> Int64? {
        field.utf8.withContiguousStorageIfAvailable { bytes -> Int64? in
            // Bounds: the text has 29 bytes; all indices are constants below that.
            guard bytes.count == 29, bytes[3] == 0x2C, bytes[19] == 0x3A, bytes[22] == 0x3A, bytes[26] == 0x47 else {
                return nil
            }
            func number(_ range: Range<Int>) -> Int? {
                var value = 0
                for index in range {
                    guard bytes[index] >= 0x30, bytes[index] <= 0x39 else { return nil }
                    value = value * 10 + Int(bytes[index] - 0x30)
                }
                return value
            }
            guard let day = number(5..<7), let year = number(12..<16), let hour = number(17..<19),
                let minute = number(20..<22), let second = number(23..<25), hour < 24, minute < 60, second < 60,
                let month = self.month(bytes[8], bytes[9], bytes[10]),
                day >= 1, day <= 28 || month != 1 && day <= 30
            else { return nil }
            return Int64(self.days(year, month + 1, day)) * 86400 + Int64(hour * 3600 + minute * 60 + second)
        } ?? nil
    }

    /// The index of a month by its abbreviated name.
    private static func month(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Int? {
        switch (first, second, third) {
        case (0x4A, 0x61, 0x6E): 0
        case (0x46, 0x65, 0x62): 1
        case (0x4D, 0x61, 0x72): 2
        case (0x41, 0x70, 0x72): 3
        case (0x4D, 0x61, 0x79): 4
        case (0x4A, 0x75, 0x6E): 5
        case (0x4A, 0x75, 0x6C): 6
        case (0x41, 0x75, 0x67): 7
        case (0x53, 0x65, 0x70): 8
        case (0x4F, 0x63, 0x74): 9
        case (0x4E, 0x6F, 0x76): 10
        case (0x44, 0x65, 0x63): 11
        default: nil
        }
    }

    /// Formats a date in the preferred form.
    ///
    /// - Parameter seconds: Seconds since 1970; clamped to the years 0 to 9999.
    /// - Returns: The date, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func format(_ seconds: Int64) -> String {
        let seconds = min(max(seconds, -62_167_219_200), 253_402_300_799)
        let days = Int(seconds >= 0 ? seconds / 86400 : (seconds - 86399) / 86400)
        let time = Int(seconds) - days * 86400
        let (year, month, day) = self.civil(days)
        let weekday = ((days + 4) % 7 + 7) % 7
        // In place: a server formats a date for each file that it sends.
        return String(unsafeUninitializedCapacity: 29) { bytes in
            // Bounds: names have three bytes and numbers two digits, so that the whole has 29.
            var end = 0
            func put(_ byte: UInt8) {
                bytes[end] = byte
                end += 1
            }
            func putName(_ name: String, then separator: UInt8) {
                for byte in name.utf8 { put(byte) }
                put(separator)
            }
            func putNumber(_ number: Int) {
                put(0x30 + UInt8(number / 10))
                put(0x30 + UInt8(number % 10))
            }
            putName(self.weekdays[weekday], then: 0x2C)
            put(0x20)
            putNumber(day)
            put(0x20)
            putName(self.months[month - 1], then: 0x20)
            putNumber(year / 100)
            putNumber(year % 100)
            put(0x20)
            putNumber(time / 3600)
            put(0x3A)
            putNumber(time / 60 % 60)
            put(0x3A)
            putNumber(time % 60)
            put(0x20)
            for byte in "GMT".utf8 { put(byte) }
            return end
        }
    }

    private static func isZone(_ word: Substring.UTF8View) -> Bool {
        ["gmt", "utc", "ut"].contains { $0.utf8.elementsEqual(word.lazy.map(ASCII.lowercase)) }
    }

    private static func number(_ word: Substring.UTF8View, _ width: ClosedRange<Int>) -> Int? {
        guard width.contains(word.count), word.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return word.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func seconds(
        _ year: Int,
        _ month: Substring.UTF8View,
        _ day: Substring.UTF8View,
        _ time: Substring.UTF8View
    ) -> Int64? {
        let clock = time.split(separator: 0x3A, omittingEmptySubsequences: false)
        let name = month.map(ASCII.lowercase)
        guard clock.count == 3, let hour = self.number(clock[0], 1...2), let minute = self.number(clock[1], 2...2),
            let second = self.number(clock[2], 2...2), hour < 24, minute < 60, second <= 60,
            let index = self.months.firstIndex(where: { $0.utf8.lazy.map(ASCII.lowercase).elementsEqual(name) }),
            let day = self.number(day, 1...2), day >= 1
        else { return nil }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard day <= lengths[index] else { return nil }
        let days = self.days(year, index + 1, day)
        return Int64(days) * 86400 + Int64(hour * 3600 + minute * 60 + second)
    }

    /// Days since 1970 of a date in the Gregorian calendar; years start in March here, so that leap days are last.
    static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
