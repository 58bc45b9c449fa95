// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Parses `Want-Repr-Digest`.
///
/// - Source: RFC 9530 §4: a dictionary of algorithms and weights from 0 (not wanted) to 10.
enum WantedDigest {
    /// The supported algorithm with the highest weight, or `nil`.
    ///
    /// Only SHA-256 and SHA-512: the others in the registry are insecure or checksums.
    static func algorithm(_ field: String?) -> DigestAlgorithm? {
        guard let members = field.flatMap({ StructuredFieldParser.dictionary($0) }) else { return nil }
        var best: (algorithm: DigestAlgorithm, weight: Int64)?
        for member in members {
            guard case .integer(let weight)? = member.value.value, weight > best?.weight ?? 0 else { continue }
            switch member.name {
            case "sha-256": best = (.sha256, weight)
            case "sha-512": best = (.sha512, weight)
            default: continue
            }
        }
        return best?.algorithm
    }

    /// The value of `Repr-Digest`.
    static func field(_ algorithm: DigestAlgorithm, _ digest: [UInt8]) -> String {
        "\(algorithm == .sha512 ? "sha-512" : "sha-256")=:\(Base64.encode(digest)):"
    }
}
