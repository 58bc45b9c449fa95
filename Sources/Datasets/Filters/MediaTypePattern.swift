// SPDX-License-Identifier: Apache-2.0
/// A media type, or all of one type: `application/pdf`, `image/*`, `*/*`.
///
/// - Source: RFC 9110 §12.5.1 (media ranges, without parameters and weights).
package struct MediaTypePattern: Sendable, Hashable, CustomStringConvertible {
    private let type: String
    private let subtype: String

    /// Parses one pattern; returns `nil` if it is not one.
    package init?(_ text: String) {
        let parts = SampleMediaType.essence(text).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, Self.isToken(parts[0]), Self.isToken(parts[1]), !text.contains(";"),
            parts[0] != "*" || parts[1] == "*"
        else { return nil }
        self.type = String(parts[0])
        self.subtype = String(parts[1])
    }

    /// Parses a list of patterns separated by commas.
    ///
    /// - Returns: The patterns, or `nil` if one is invalid or there is none.
    package static func list(_ text: String) -> [MediaTypePattern]? {
        let patterns = text.split(separator: ",", omittingEmptySubsequences: false).map { Self(String($0)) }
        return patterns.contains(nil) ? nil : patterns.compactMap { $0 }
    }

    /// The pattern as text, in lower case.
    package var description: String { "\(self.type)/\(self.subtype)" }

    /// Whether a media type without parameters, in lower case, is of this pattern.
    func matches(_ essence: String) -> Bool {
        if self.type == "*" { return true }
        if self.subtype != "*" { return essence == "\(self.type)/\(self.subtype)" }
        return essence.hasPrefix(self.type + "/")
    }

    /// Whether a text is a token (RFC 9110 §5.6.2).
    private static func isToken(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                    || "!#$%&'*+-.^_`|~".utf8.contains($0)
            }
    }
}
