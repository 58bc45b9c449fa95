// SPDX-License-Identifier: Apache-2.0
/// The contents of a Content-Range field.
///
/// - Source: RFC 9110 §14.4.
package struct ContentRange: Hashable, Sendable {
    /// The range of the body; `nil` for `bytes */N` of a 416 response.
    package var range: ByteRange?
    /// The length of the whole representation, or `nil` if the server does not report it.
    package var total: Int64?

    /// Parses a field's value; `nil` if it is malformed, contradictory or overflows.
    package init?(_ field: String) {
        let text = field.utf8.drop { $0 == 0x20 || $0 == 0x09 }
        guard text.prefix(5).lazy.map(ASCII.lowercase).elementsEqual("bytes".utf8) else { return nil }
        let rest = text.dropFirst(5)
        guard rest.first == 0x20 || rest.first == 0x09 else { return nil }
        var parts = rest.split(separator: 0x2F, omittingEmptySubsequences: false).map(Self.trimmed)
        guard parts.count == 2, let length = parts.popLast(), let interval = parts.popLast() else { return nil }
        if length.elementsEqual("*".utf8) {
            self.total = nil
        } else {
            guard let total = DecimalNumber.parse(length) else { return nil }
            self.total = total
        }
        if interval.elementsEqual("*".utf8) {
            guard self.total != nil else { return nil }
            self.range = nil
            return
        }
        let ends = interval.split(separator: 0x2D, omittingEmptySubsequences: false).map(Self.trimmed)
        guard ends.count == 2, let first = DecimalNumber.parse(ends[0]), let last = DecimalNumber.parse(ends[1]),
            first <= last, last < self.total ?? .max
        else { return nil }
        self.range = first..<(last + 1)
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        var text = text
        while let byte = text.first, byte == 0x20 || byte == 0x09 { text.removeFirst() }
        while let byte = text.last, byte == 0x20 || byte == 0x09 { text.removeLast() }
        return text
    }
}

/// Formats the value of a Range field.
///
/// - Source: RFC 9110 §14.1.2, §14.2.
package enum RangeField {
    /// The field's value for a non-empty half-open range, such as `bytes=0-499` for `0..<500`.
    package static func bytes(_ range: ByteRange) -> String {
        "bytes=\(range.lowerBound)-\(max(range.lowerBound, range.upperBound &- 1))"
    }

    /// The field's value for everything from an offset on, such as `bytes=500-`.
    package static func bytes(from offset: Int64) -> String { "bytes=\(offset)-" }
}

/// Parses decimal numbers in the format of header fields: digits only.
package enum DecimalNumber {
    /// The number, or `nil` if there is another byte or it does not fit.
    package static func parse(_ digits: some Collection<UInt8>) -> Int64? {
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for digit in digits {
            guard digit >= 0x30, digit <= 0x39 else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, sumOverflow) = product.addingReportingOverflow(Int64(digit - 0x30))
            if overflow || sumOverflow { return nil }
            value = sum
        }
        return value
    }
}
