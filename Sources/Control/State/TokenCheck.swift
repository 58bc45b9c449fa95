internal import Crypto

/// Compares tokens without telling by the time it takes how much of one was right.
package struct TokenCheck: Sendable {
    private let digest: SHA256.Digest

    /// Keeps the digest of a token.
    package init(_ token: String) { self.digest = SHA256.hash(data: Array(token.utf8)) }

    /// Whether this is the token.
    package func accepts(_ token: String) -> Bool {
        // Digests compare in constant time, and have one length whatever the tokens' are.
        SHA256.hash(data: Array(token.utf8)) == self.digest
    }
}
