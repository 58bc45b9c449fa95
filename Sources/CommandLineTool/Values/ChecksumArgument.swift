import TransferCore

/// A digest as a person writes it: `sha256:HEX`, `sha-256=HEX` (aria2's), or with the digest in base64.
enum ChecksumArgument {
    /// Parses a digest.
    ///
    /// - Throws: ``BadValue`` where the algorithm is unknown or the digest has not its length.
    static func parse(_ text: String, source: String = "--checksum") throws(BadValue) -> ExpectedDigest {
        do {
            return try ExpectedDigest(parsing: text, source: source)
        } catch {
            throw BadValue(DisplayText.clean(error.message))
        }
    }

    /// Parses an algorithm's name, in any of its spellings.
    ///
    /// - Throws: ``BadValue`` where it is not known.
    static func algorithm(_ text: String) throws(BadValue) -> DigestAlgorithm {
        guard let algorithm = DigestAlgorithm(named: text.trimmingBlanks.utf8) else {
            let known = DigestAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
            throw BadValue("\"\(DisplayText.clean(text))\" is not a digest algorithm; use one of \(known)")
        }
        return algorithm
    }
}
