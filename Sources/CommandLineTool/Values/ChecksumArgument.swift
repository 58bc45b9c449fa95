import TransferCore

/// A digest as a person writes it: `sha256:HEX`, `sha-256=HEX` (aria2's), or with the digest in base64.
enum ChecksumArgument {
    /// Parses a digest.
    ///
    /// - Throws: ``BadValue`` where the algorithm is unknown or the digest has not its length.
    static func parse(_ text: String, source: String = "--checksum") throws(BadValue) -> ExpectedDigest {
        let shown = DisplayText.clean(text)
        guard let separator = text.firstIndex(where: { $0 == ":" || $0 == "=" }) else {
            throw BadValue("\"\(shown)\" is not a checksum; write ALGORITHM:DIGEST, such as sha256:9f86d0…")
        }
        let algorithm = try self.algorithm(String(text[..<separator]))
        let digest = text[text.index(after: separator)...].trimmingBlanks
        let bytes = self.hexadecimal(digest, count: algorithm.byteCount) ?? self.base64(digest)
        guard let bytes, bytes.count == algorithm.byteCount else {
            throw BadValue(
                "\"\(shown)\": a \(algorithm.rawValue) digest is \(algorithm.byteCount * 2) hexadecimal digits or "
                    + "\((algorithm.byteCount + 2) / 3 * 4) characters of base64; copy it again, whole"
            )
        }
        return ExpectedDigest(algorithm: algorithm, bytes: bytes, source: source)
    }

    /// Parses an algorithm's name, with or without its hyphen.
    ///
    /// - Throws: ``BadValue`` where it is unknown.
    static func algorithm(_ text: String) throws(BadValue) -> DigestAlgorithm {
        let name = text.trimmingBlanks.lowercased().filter { $0 != "-" }
        guard let algorithm = DigestAlgorithm(rawValue: name) else {
            let known = DigestAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
            throw BadValue("\"\(DisplayText.clean(text))\" is not a digest algorithm; use one of \(known)")
        }
        return algorithm
    }

    /// The digest in hexadecimal digits.
    static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func hexadecimal(_ text: String, count: Int) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count == count * 2 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = self.nibble(digits[index]), let low = self.nibble(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }

    /// Decodes base64, padded or not (RFC 4648 §4, §5).
    private static func base64(_ text: String) -> [UInt8]? {
        var digits = Array(text.utf8)
        while digits.last == 0x3D { digits.removeLast() }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for digit in digits {
            let value: UInt8
            switch digit {
            case 0x41...0x5A: value = digit - 0x41
            case 0x61...0x7A: value = digit - 0x61 + 26
            case 0x30...0x39: value = digit - 0x30 + 52
            case 0x2B, 0x2D: value = 62
            case 0x2F, 0x5F: value = 63
            default: return nil
            }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return bytes
    }
}
