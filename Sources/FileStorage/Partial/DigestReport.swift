// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine

/// Creates the error for a digest mismatch.
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
            "the \(expected.algorithm.rawValue) digest of '\(target.path)' is \(Hexadecimal.encode(actual ?? [])), but "
                + "\(expected.source) says \(Hexadecimal.encode(expected.bytes)); \(fate), download it again or check the digest"
        )
    }
}
