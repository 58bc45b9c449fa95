// SPDX-License-Identifier: Apache-2.0
extension HTTPURL {
    /// Resolves a reference, such as a Location field's value, against this URL.
    ///
    /// The reference's fragment is dropped. User information is inherited only if the reference has no host.
    ///
    /// - Throws: ``SyntaxError``, with the code `unsupportedScheme` if the reference has another scheme.
    /// - Source: RFC 3986 §5.2.
    public func resolving(_ reference: String) throws(SyntaxError) -> HTTPURL {
        let trimmed = String(Self.trimmed(reference))
        switch trimmed.utf8.first {
        case nil, 0x23: return self
        case 0x2F:
            let isSchemeRelative = trimmed.utf8.dropFirst().first == 0x2F
            return try HTTPURL(isSchemeRelative ? "\(self.scheme.name):\(trimmed)" : "\(self.prefix)\(trimmed)")
        case 0x3F: return try HTTPURL("\(self.prefix)\(self.path)\(trimmed)")
        default: break
        }
        guard let scheme = URLParser.schemeName(trimmed.utf8) else {
            return try HTTPURL("\(self.prefix)\(self.pathDirectory)\(trimmed)")
        }
        guard scheme == "http" || scheme == "https" else {
            throw SyntaxError(
                .unsupportedScheme(scheme),
                at: trimmed.utf8,
                "the scheme \(scheme) is not supported; only http and https are"
            )
        }
        return try HTTPURL(trimmed)
    }

    private static func trimmed(_ text: String) -> Substring {
        let isWhiteSpace = { (byte: UInt8) in byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) }
        guard let first = text.utf8.firstIndex(where: { !isWhiteSpace($0) }),
            let last = text.utf8.lastIndex(where: { !isWhiteSpace($0) })
        else { return "" }
        return text[first..<text.utf8.index(after: last)]
    }
}
