// SPDX-License-Identifier: Apache-2.0
internal import Crypto

/// Compares tokens in constant time, so that the duration does not reveal a matching prefix.
package struct TokenCheck: Sendable {
    private let digest: SHA256.Digest

    /// Keeps the digest of a token.
    package init(_ token: String) { self.digest = SHA256.hash(data: Array(token.utf8)) }

    /// The bytes of the digest, from which other secrets are derived.
    package var bytes: [UInt8] { Array(self.digest) }

    package func accepts(_ token: String) -> Bool {
        // Digests are compared in constant time and have the same length for all tokens.
        SHA256.hash(data: Array(token.utf8)) == self.digest
    }
}
