// SPDX-License-Identifier: Apache-2.0
/// Parses the digests that a response declares.
///
/// - Source: RFC 9530 (Repr-Digest, Content-Digest); RFC 3230 (Digest).
package enum DigestFields {
    /// The digests of the whole representation: those of Repr-Digest, otherwise those of the older Digest.
    package static func representation(_ fields: HeaderFields) -> [ExpectedDigest] {
        let current = fields.joined("Repr-Digest").map { self.parse($0, source: "Repr-Digest") } ?? []
        guard current.isEmpty else { return current }
        return fields.joined("Digest").map { self.instanceDigests($0) } ?? []
    }

    /// The digests of this message's content: of the range only if the response is a 206.
    package static func content(_ fields: HeaderFields) -> [ExpectedDigest] {
        fields.joined("Content-Digest").map { self.parse($0, source: "Content-Digest") } ?? []
    }

    /// Parses the value of Repr-Digest or Content-Digest, such as `sha-256=:BASE64:`.
    ///
    /// - Parameters:
    ///   - field: The field's value.
    ///   - source: The field's name, for messages.
    /// - Returns: The digests without unknown algorithms and wrong lengths; none if the field is malformed.
    package static func parse(_ field: String, source: String) -> [ExpectedDigest] {
        let members = StructuredFieldParser.dictionary(field) ?? []
        return members.compactMap { member in
            guard case .bytes(let bytes)? = member.value.value else { return nil }
            return Self.digest(member.name.utf8, bytes, source: source)
        }
    }

    /// Parses the value of Digest, such as `SHA-256=BASE64`, which is not a structured field.
    ///
    /// - Returns: The digests; of two for one algorithm, the last one.
    static func instanceDigests(_ field: String) -> [ExpectedDigest] {
        var digests: [ExpectedDigest] = []
        for part in Array(field.utf8).split(separator: Byte.comma) {
            let member = part.filter { !Byte.isBlank($0) }
            guard let equals = member.firstIndex(of: 0x3D), let bytes = Base64.decode(member[(equals + 1)...]),
                let digest = Self.digest(member[..<equals], bytes, source: "Digest")
            else { continue }
            digests.removeAll { $0.algorithm == digest.algorithm }
            digests.append(digest)
        }
        return digests
    }

    private static func digest(_ name: some Collection<UInt8>, _ bytes: [UInt8], source: String) -> ExpectedDigest? {
        guard let algorithm = DigestAlgorithm(named: name), bytes.count == algorithm.byteCount else { return nil }
        return ExpectedDigest(algorithm: algorithm, bytes: bytes, source: source)
    }
}
