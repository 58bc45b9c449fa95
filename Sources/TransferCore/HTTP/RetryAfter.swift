// SPDX-License-Identifier: Apache-2.0
/// Parses the Retry-After field.
///
/// - Source: RFC 9110 §10.2.3.
package enum RetryAfter {
    /// Parses the delay; the caller limits it.
    ///
    /// - Parameters:
    ///   - field: The field's value, seconds or a date.
    ///   - now: The current time in seconds since 1970.
    /// - Returns: Seconds, never negative, clamped to the largest number; `nil` for a malformed field.
    package static func seconds(_ field: String, now: Int64) -> Int64? {
        let digits = field.utf8.filter { $0 != 0x20 && $0 != 0x09 }
        if !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
            return DecimalNumber.parse(digits) ?? .max
        }
        guard let date = HTTPDate.parse(field) else { return nil }
        let (difference, overflow) = date.subtractingReportingOverflow(now)
        if overflow { return now < 0 ? .max : 0 }
        return max(0, difference)
    }
}
