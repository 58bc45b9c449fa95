// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The interpretation of a `Range` field.
///
/// - Source: RFC 9110 §14.1.2, §14.2.
package enum ByteRangeRequest: Hashable, Sendable {
    /// The complete representation: the field is absent or ignored.
    case whole
    /// One range of the representation, half-open and not empty.
    case part(Range<Int64>)
    /// A range that does not overlap the representation.
    case unsatisfiable

    /// Parses a field for a representation of `length` bytes.
    ///
    /// A malformed field, another unit or several ranges select the complete representation, as RFC 9110 §14.2 permits.
    /// Responses with several ranges are hard to parse and easy to abuse.
    package static func of(_ field: String?, length: Int64) -> ByteRangeRequest {
        guard let field else { return .whole }
        let text = field.utf8.drop { $0 == 0x20 || $0 == 0x09 }
        guard text.prefix(6).lazy.map(ASCII.lowercase).elementsEqual("bytes=".utf8) else { return .whole }
        let specifications = text.dropFirst(6).split(separator: 0x2C).map(Self.trimmed).filter { !$0.isEmpty }
        guard specifications.count == 1, let specification = specifications.first,
            let dash = specification.firstIndex(of: 0x2D)
        else { return .whole }
        let first = specification[..<dash]
        let last = specification[specification.index(after: dash)...]
        if first.isEmpty {
            // The last bytes, or all if the file is shorter.
            guard let count = Self.number(last) else { return .whole }
            guard count > 0 else { return .unsatisfiable }
            // An empty representation satisfies every suffix range, but Content-Range cannot express that.
            guard length > 0 else { return .whole }
            return .part(max(0, length - count)..<length)
        }
        guard let start = Self.number(first) else { return .whole }
        if last.isEmpty { return start < length ? .part(start..<length) : .unsatisfiable }
        guard let end = Self.number(last), end >= start else { return .whole }
        return start < length ? .part(start..<min(length, end == .max ? .max : end + 1)) : .unsatisfiable
    }

    /// Parses digits of any length; a number above `Int64.max` becomes `Int64.max`.
    private static func number(_ digits: Substring.UTF8View) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return DecimalNumber.parse(digits) ?? .max
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        var text = text
        while let byte = text.first, byte == 0x20 || byte == 0x09 { text.removeFirst() }
        while let byte = text.last, byte == 0x20 || byte == 0x09 { text.removeLast() }
        return text
    }
}
