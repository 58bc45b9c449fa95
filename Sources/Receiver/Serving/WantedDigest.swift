internal import TransferCore

/// Parses `Want-Repr-Digest`.
///
/// - Source: RFC 9530 §4: a dictionary of algorithms and weights from 0 (not wanted) to 10.
enum WantedDigest {
    /// The supported algorithm with the highest weight, or `nil`.
    ///
    /// Only SHA-256 and SHA-512: the others in the registry are insecure or checksums.
    static func algorithm(_ field: String?) -> DigestAlgorithm? {
        guard let field else { return nil }
        var best: (algorithm: DigestAlgorithm, weight: Int)?
        for member in field.split(separator: ",") {
            let parts = member.split(separator: "=", maxSplits: 1)
                .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let name = parts.first, parts.count == 2, let weight = Int(parts[1].prefix { $0 != ";" }) else {
                continue
            }
            let algorithm: DigestAlgorithm
            switch name {
            case "sha-256": algorithm = .sha256
            case "sha-512": algorithm = .sha512
            default: continue
            }
            if weight > 0, weight > best?.weight ?? 0 { best = (algorithm, weight) }
        }
        return best?.algorithm
    }

    /// The value of `Repr-Digest`.
    static func field(_ algorithm: DigestAlgorithm, _ digest: [UInt8]) -> String {
        "\(algorithm == .sha512 ? "sha-512" : "sha-256")=:\(Base64.encode(digest)):"
    }
}
