internal import Crypto

/// Compares tokens without telling by the time it takes how much of one was right.
struct TokenCheck: Sendable {
    private let digest: SHA256.Digest

    init(_ token: String) { self.digest = SHA256.hash(data: Array(token.utf8)) }

    /// Whether this is the token.
    func accepts(_ token: String) -> Bool {
        // Digests compare in constant time, and have one length whatever the tokens' are.
        SHA256.hash(data: Array(token.utf8)) == self.digest
    }
}
