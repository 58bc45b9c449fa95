// SPDX-License-Identifier: Apache-2.0
extension DigestAlgorithm {
    /// The algorithm with this name, in any of the spellings in use (`sha256`, `SHA-256`, `sha`), or `nil`.
    public init?(named name: some Sequence<UInt8>) {
        switch String(decoding: name.lazy.map(ASCII.lowercase), as: UTF8.self) {
        case "md5", "md-5": self = .md5
        case "sha", "sha1", "sha-1": self = .sha1
        case "sha256", "sha-256": self = .sha256
        case "sha384", "sha-384": self = .sha384
        case "sha512", "sha-512": self = .sha512
        default: return nil
        }
    }
}

extension ExpectedDigest {
    /// Parses `sha256:HEX`, `sha-256=BASE64` and similar forms.
    ///
    /// - Parameters:
    ///   - text: The algorithm's name, `:` or `=`, and the digest in hexadecimal digits or Base64.
    ///   - source: The source of the digest, for messages.
    /// - Throws: ``SyntaxError`` with a message for the author of the text.
    public init(parsing text: String, source: String = "the digest") throws(SyntaxError) {
        let bytes = Array(text.utf8.filter { $0 > 0x20 })
        guard let separator = bytes.firstIndex(where: { $0 == 0x3A || $0 == 0x3D }) else {
            throw SyntaxError("\"\(text)\": no algorithm given; write sha256:HEX, or md5, sha1, sha384, sha512")
        }
        guard let algorithm = DigestAlgorithm(named: bytes[..<separator]) else {
            throw SyntaxError(
                "\"\(text)\": unknown algorithm; use md5, sha1, sha256, sha384 or sha512, as in sha256:HEX"
            )
        }
        var value = bytes[(separator + 1)...]
        if value.first == 0x3A { value = value.dropFirst() }
        if value.last == 0x3A { value = value.dropLast() }
        let wanted = algorithm.byteCount
        let digest = value.count == wanted * 2 ? Hexadecimal.decode(value) : Base64.decode(value)
        guard let digest, digest.count == wanted else {
            throw SyntaxError(
                "\"\(text)\": not a digest of \(algorithm.rawValue); "
                    + "it has \(wanted * 2) hexadecimal digits, or \((wanted + 2) / 3 * 4) characters of Base64"
            )
        }
        self.init(algorithm: algorithm, bytes: digest, source: source)
    }
}
