/// Parses the digests that a response declares.
///
/// - Source: RFC 9530 (Repr-Digest, Content-Digest); RFC 3230 (Digest).
package enum DigestFields {
    /// The digests of the whole representation: those of Repr-Digest, otherwise those of the older Digest.
    package static func representation(_ fields: HeaderFields) -> [ExpectedDigest] {
        let current = fields.joined("Repr-Digest").map { self.parse($0, source: "Repr-Digest") } ?? []
        guard current.isEmpty else { return current }
        return fields.joined("Digest").map { self.parse($0, source: "Digest") } ?? []
    }

    /// The digests of this message's content: of the range only if the response is a 206.
    package static func content(_ fields: HeaderFields) -> [ExpectedDigest] {
        fields.joined("Content-Digest").map { self.parse($0, source: "Content-Digest") } ?? []
    }

    /// Parses a field's value, `sha-256=:BASE64:` or the older `sha-256=BASE64`.
    ///
    /// - Parameters:
    ///   - field: The field's value.
    ///   - source: The field's name, for messages.
    /// - Returns: The digests; unknown algorithms and wrong lengths are omitted, the last one of an algorithm counts.
    package static func parse(_ field: String, source: String) -> [ExpectedDigest] {
        var digests: [ExpectedDigest] = []
        for member in self.members(field) {
            guard let equals = member.firstIndex(of: 0x3D), let algorithm = DigestAlgorithm(named: member[..<equals])
            else { continue }
            var value = member[(equals + 1)...]
            if value.first == 0x3A {
                // Parameters after the byte sequence do not affect the digest (RFC 8941 §3.1.2).
                value = value.dropFirst().prefix { $0 != 0x3A }
            }
            guard let bytes = Base64.decode(value), bytes.count == algorithm.byteCount else { continue }
            digests.removeAll { $0.algorithm == algorithm }
            digests.append(ExpectedDigest(algorithm: algorithm, bytes: bytes, source: source))
        }
        return digests
    }

    /// Splits at commas outside quoted strings, and trims the members.
    private static func members(_ field: String) -> [ArraySlice<UInt8>] {
        var isQuoted = false
        var isEscaped = false
        let parts = Array(field.utf8)
            .split { byte in
                if isEscaped {
                    isEscaped = false
                } else if isQuoted, byte == 0x5C {
                    isEscaped = true
                } else if byte == 0x22 {
                    isQuoted.toggle()
                }
                return byte == 0x2C && !isQuoted
            }
        return parts.map { part in
            var part = part.drop { $0 <= 0x20 }
            while let last = part.last, last <= 0x20 { part.removeLast() }
            return part
        }
    }
}
