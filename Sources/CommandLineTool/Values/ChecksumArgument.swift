// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// Parses a digest: `sha256:HEX`, `sha-256=HEX` (aria2's format), or with the digest in base64.
enum ChecksumArgument {
    /// Parses a digest.
    ///
    /// - Throws: ``BadValue`` if the algorithm is unknown or the digest has the wrong length.
    static func parse(_ text: String, source: String = "--checksum") throws(BadValue) -> ExpectedDigest {
        do {
            return try ExpectedDigest(parsing: text, source: source)
        } catch {
            throw BadValue(DisplayText.clean(error.message))
        }
    }

    /// Parses the name of an algorithm, in any spelling.
    ///
    /// - Throws: ``BadValue`` if the algorithm is unknown.
    static func algorithm(_ text: String) throws(BadValue) -> DigestAlgorithm {
        guard let algorithm = DigestAlgorithm(named: text.trimmingBlanks.utf8) else {
            let known = DigestAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
            throw BadValue("\"\(DisplayText.clean(text))\" is not a digest algorithm; use one of \(known)")
        }
        return algorithm
    }
}
