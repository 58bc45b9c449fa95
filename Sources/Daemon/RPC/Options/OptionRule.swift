// SPDX-License-Identifier: Apache-2.0
internal import Control
package import TransferCore

/// The syntax of an option's values.
///
/// - Source: aria2c(1), for aria2's options.
package enum OptionRule: Sendable {
    /// `true` or `false`.
    case flag
    /// A whole number in a range.
    case number(ClosedRange<Int64>)
    /// A number of seconds, with or without a fraction; 0 means none.
    case seconds
    /// A number of bytes, optionally followed by K or M.
    case size(least: Int64)
    /// An algorithm, `=` and a digest, such as `sha-256=HEX`.
    case digest
    /// Sixteen hexadecimal digits.
    case gid
    /// A path, absolute or relative.
    case path
    /// One of the given words.
    case words([String])
    /// Names of notifications, separated by commas.
    case notifications
    /// A header field: name, colon, value.
    case field
    /// A text for a header field, without control characters.
    case line
    /// The name of an HTTP method.
    case token
    /// Bytes in Base64.
    case base64
    /// Any text.
    case text

    /// The accepted values, for messages and documents.
    package var accepted: String {
        switch self {
        case .flag: "true or false"
        case .number(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .seconds: "a number of seconds, 0 or more"
        case .size(let least): "a number of bytes such as 500K or 20M, at least \(least)"
        case .digest: "an algorithm and a digest, as in sha-256=HEX"
        case .gid: "16 hexadecimal digits, not all of them 0"
        case .path: "a path of at most 4096 bytes"
        case .words(let words): words.joined(separator: ", ")
        case .notifications: "finished, failed and done, separated by commas, or none"
        case .field: "a header field such as \"Name: value\""
        case .line: "a text without control characters"
        case .token: "a method such as GET"
        case .base64: "bytes in Base64"
        case .text: "a text"
        }
    }

    /// Validates a value and returns its normalized form; sizes are converted to bytes.
    ///
    /// - Throws: ``SyntaxError``, which describes the accepted values.
    package func value(_ text: String) throws(SyntaxError) -> String {
        guard let value = self.normalized(text) else {
            throw SyntaxError.option("is not a valid value", write: self.accepted)
        }
        return value
    }

    /// The normalized form of a value, or `nil` if it is not one.
    private func normalized(_ text: String) -> String? {
        switch self {
        case .flag: return text == "true" || text == "false" ? text : nil
        case .number(let range):
            // Also 5.0, as some clients write numbers.
            let fraction = text.utf8.drop { $0 != 0x2E }
            let digits = fraction.count > 1 && fraction.dropFirst().allSatisfy { $0 == 0x30 }
            let whole = digits ? String(text.prefix { $0 != "." }) : text
            guard let number = Int64(whole), range.contains(number), !text.hasPrefix("+") else { return nil }
            return "\(number)"
        case .seconds:
            guard let seconds = Double(text), seconds >= 0, seconds <= 3_155_760_000 else { return nil }
            return text
        case .size(let least): return ByteCount.parse(text).flatMap { $0 >= least ? "\($0)" : nil }
        case .digest: return (try? ExpectedDigest(parsing: text)) == nil ? nil : text
        case .gid: return GID(text)?.description
        case .path: return text.utf8.count <= 4096 && !text.utf8.contains(0) ? text : nil
        case .words(let words): return words.contains(text) ? text : nil
        case .notifications: return Set<TransferNotification>(words: text)?.words
        case .field:
            guard Self.isLine(text), let colon = text.utf8.firstIndex(of: 0x3A), colon > text.utf8.startIndex else {
                return nil
            }
            return text
        case .line: return Self.isLine(text) ? text : nil
        case .token:
            let isName = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3A }
            return (1...64).contains(text.utf8.count) && isName ? text : nil
        case .base64: return Base64.decode(text.utf8) == nil ? nil : text
        case .text: return text
        }
    }

    private static func isLine(_ text: String) -> Bool {
        text.utf8.count <= 65_536 && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}
