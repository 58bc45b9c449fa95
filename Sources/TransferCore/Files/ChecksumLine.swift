// SPDX-License-Identifier: Apache-2.0
/// A line of a list of digests: `SHA256SUMS` and its like.
///
/// Three forms are read: GNU coreutils' `DIGEST  NAME` and `DIGEST *NAME`, BSD's `SHA256 (NAME) = DIGEST` (also without
/// the blanks, as OpenSSL writes it), and a digest alone. In coreutils' forms a backslash before the line says that
/// backslashes, line feeds and carriage returns of the name are written as `\\`, `\n` and `\r`.
///
/// - Source: GNU coreutils, "md5sum invocation"; OpenBSD cksum(1); openssl-dgst(1).
package struct ChecksumLine: Hashable, Sendable {
    /// The algorithm; in forms that do not name it, that with digests of this length.
    package var algorithm: DigestAlgorithm
    package var digest: [UInt8]
    /// The name of the file as in the list, possibly with directories; empty if the line has a digest only.
    package var name: String

    /// Parses a line without its line feed; `nil` if it is none of these forms, as comments and signatures are not.
    package init?(_ line: some BidirectionalCollection<UInt8>) {
        var text = Array(line)
        // A carriage return of a name would be escaped.
        if text.last == 0x0D { text.removeLast() }
        var isEscaped = false
        if text.first == 0x5C {
            isEscaped = true
            text.removeFirst()
        }
        guard let parts = Self.tagged(text) ?? Self.plain(text) else { return nil }
        guard let bytes = isEscaped ? Self.unescaped(parts.name) : Array(parts.name),
            let name = String(validating: bytes, as: UTF8.self), !bytes.contains(0)
        else { return nil }
        self.algorithm = parts.algorithm
        self.digest = parts.digest
        self.name = name
    }

    private typealias Parts = (algorithm: DigestAlgorithm, digest: [UInt8], name: ArraySlice<UInt8>)

    /// The form `DIGEST  NAME`: one blank, then a blank or an asterisk, which says that the file was read as binary.
    private static func plain(_ text: [UInt8]) -> Parts? {
        let digits = text.prefix { PercentEncoding.value($0) != nil }
        guard let algorithm = DigestAlgorithm.allCases.first(where: { $0.byteCount * 2 == digits.count }),
            let digest = Hexadecimal.decode(digits)
        else { return nil }
        var rest = text[digits.endIndex...]
        guard let blank = rest.first else { return (algorithm, digest, rest) }
        guard self.isBlank(blank) else { return nil }
        rest.removeFirst()
        if let mode = rest.first, self.isBlank(mode) || mode == 0x2A { rest.removeFirst() }
        return (algorithm, digest, rest)
    }

    /// The form `ALGORITHM (NAME) = DIGEST`; a name may contain `) = `, so the last one counts.
    private static func tagged(_ text: [UInt8]) -> Parts? {
        guard let open = text.firstIndex(of: 0x28), open > 0, let equals = text.lastIndex(where: { $0 == 0x29 }) else {
            return nil
        }
        var word = text[..<open]
        while let last = word.last, self.isBlank(last) { word.removeLast() }
        // OpenSSL 3 writes SHA2-256.
        if word.starts(with: Array("SHA2-".utf8)) { word = Array("SHA".utf8 + word.dropFirst(5))[...] }
        guard let algorithm = DigestAlgorithm(named: word), open < equals else { return nil }
        var value = text[(equals + 1)...].drop(while: self.isBlank)
        guard value.first == 0x3D else { return nil }
        value = value.dropFirst().drop(while: self.isBlank)
        while let last = value.last, self.isBlank(last) { value.removeLast() }
        let isHexadecimal = value.count == algorithm.byteCount * 2
        guard let digest = isHexadecimal ? Hexadecimal.decode(value) : Base64.decode(value),
            digest.count == algorithm.byteCount
        else { return nil }
        return (algorithm, digest, text[(open + 1)..<equals])
    }

    private static func unescaped(_ name: ArraySlice<UInt8>) -> [UInt8]? {
        var output: [UInt8] = []
        var isEscape = false
        for byte in name {
            guard isEscape else {
                if byte == 0x5C { isEscape = true } else { output.append(byte) }
                continue
            }
            isEscape = false
            switch byte {
            case 0x5C: output.append(0x5C)
            case 0x6E: output.append(0x0A)
            case 0x72: output.append(0x0D)
            default: return nil
            }
        }
        return isEscape ? nil : output
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
