// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// Parses the cookies of a request.
///
/// - Source: RFC 6265 §4.2.
package enum RequestCookies {
    /// All pairs of a name and a value, in order.
    package static func all(_ fields: HeaderFields) -> [(name: String, value: String)] {
        fields.values("Cookie").flatMap { $0.split(separator: ";") }
            .compactMap { pair in
                guard let equals = pair.firstIndex(of: "=") else { return nil }
                return (Self.trimmed(pair[..<equals]), Self.trimmed(pair[pair.index(after: equals)...]))
            }
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}
