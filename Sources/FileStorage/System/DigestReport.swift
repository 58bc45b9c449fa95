import TransferCore
import TransferEngine

/// What is said about a digest that disagrees.
enum DigestReport {
    /// The error, with both digests.
    static func mismatch(
        _ expected: ExpectedDigest,
        actual: [UInt8]?,
        _ target: FileTarget,
        kept: String?
    ) -> StorageError {
        let fate = kept.map { "the bad file is kept as '\($0)'" } ?? "the bad file was deleted"
        return StorageError(
            .digestMismatch,
            "the \(expected.algorithm.rawValue) digest of '\(target.path)' is \(Self.hex(actual ?? [])), but "
                + "\(expected.source) says \(Self.hex(expected.bytes)); \(fate), fetch it again or check the digest"
        )
    }

    /// Lower-case hexadecimal digits.
    static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
