// SPDX-License-Identifier: Apache-2.0
/// Decides which request fields select a stored response.
///
/// - Source: RFC 9111 §4.1.
package enum VaryRule {
    /// The lower-case names in a response's `Vary` fields, sorted; `nil` if the response matches no other request.
    package static func names(_ response: HeaderFields) -> [String]? {
        var names: Set<String> = []
        for value in response.values("Vary") {
            for element in value.split(separator: ",") {
                let bytes = element.utf8.drop(while: Byte.isBlank)
                let name = String(decoding: bytes.reversed().drop(while: Byte.isBlank).reversed(), as: UTF8.self)
                    .lowercased()
                if name.isEmpty { continue }
                // `*`, and a name that cannot be compared.
                guard name != "*", name.utf8.allSatisfy(Byte.isTokenCharacter) else { return nil }
                names.insert(name)
            }
        }
        return names.sorted()
    }

    /// The selecting fields of a request in a normal form: equal for two requests if the response selects both.
    ///
    /// `Authorization`, `Cookie` and `Host` always select: a response for one user is never returned to another, although
    /// RFC 9111 leaves that to the server. Blanks around commas are removed where they have no meaning.
    ///
    /// - Parameters:
    ///   - request: The request's fields.
    ///   - response: The response's fields, with `Vary`.
    /// - Returns: The normal form, or `nil` if the response matches no other request.
    package static func selection(of request: HeaderFields, by response: HeaderFields) -> [UInt8]? {
        guard let names = self.names(response) else { return nil }
        var bytes: [UInt8] = []
        for name in ["authorization", "cookie", "host"] + names {
            let values = request.values(name)
            bytes.append(contentsOf: name.utf8)
            // A missing field differs from an empty one.
            bytes.append(values.isEmpty ? 0x2D : Byte.colon)
            let text = values.joined(separator: ",")
            bytes.append(contentsOf: name.hasPrefix("accept") ? self.normalized(text) : Array(text.utf8))
            bytes.append(Byte.lf)
        }
        return bytes
    }

    /// Removes blanks next to commas and semicolons; a text with quoted strings is left as it is.
    private static func normalized(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        if text.utf8.contains(0x22) { return Array(text.utf8) }
        var hasBlank = false
        for byte in text.utf8 {
            if Byte.isBlank(byte) {
                hasBlank = true
                continue
            }
            let separators = [Byte.comma, Byte.semicolon]
            if hasBlank, let last = bytes.last, !separators.contains(last), !separators.contains(byte) {
                bytes.append(Byte.space)
            }
            hasBlank = false
            bytes.append(byte)
        }
        return bytes
    }
}
