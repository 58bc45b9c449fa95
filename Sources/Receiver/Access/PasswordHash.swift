// SPDX-License-Identifier: Apache-2.0
internal import Crypto
internal import TransferCore

/// The salted slow hash of a password, as it is stored.
///
/// - Source: PBKDF2 with HMAC-SHA-256, RFC 8018 §5.2; for keys of one block.
struct PasswordHash: Sendable, Hashable {
    /// The number of iterations of new hashes; its figures are in Docs/Decisions/0032.
    static let usualRounds = 200_000
    /// The maximum number of iterations that a stored hash may demand.
    private static let mostRounds = 10_000_000

    /// The number of iterations.
    let rounds: Int
    private let salt: [UInt8]
    private let key: [UInt8]

    /// Hashes a password with a new salt; takes a noticeable part of a second.
    init(_ password: String, rounds: Int = PasswordHash.usualRounds) {
        self.rounds = rounds
        self.salt = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        self.key = Self.derive(Array(password.utf8), salt: self.salt, rounds: rounds)
    }

    /// Parses the output of ``text``; `nil` if it is not one.
    init?(text: String) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "pbkdf2-sha256", let rounds = Int(parts[1]),
            (1...Self.mostRounds).contains(rounds), let salt = Hexadecimal.decode(parts[2].utf8),
            let key = Hexadecimal.decode(parts[3].utf8), key.count == 32
        else { return nil }
        self.rounds = rounds
        self.salt = salt
        self.key = key
    }

    /// The text that is stored.
    var text: String {
        "pbkdf2-sha256$\(self.rounds)$\(Hexadecimal.encode(self.salt))$\(Hexadecimal.encode(self.key))"
    }

    /// Whether this is the password; takes as long as making the hash.
    func accepts(_ password: String) -> Bool {
        let other = Self.derive(Array(password.utf8), salt: self.salt, rounds: self.rounds)
        // Digests are compared in constant time by the library: a fold of our own accepted one wrong password in 256,
        // because `|` and `^` have the same precedence in Swift.
        return SHA256.hash(data: self.key) == SHA256.hash(data: other)
    }

    /// Derives a key of 32 bytes.
    ///
    /// - Precondition: `rounds` is positive.
    static func derive(_ password: [UInt8], salt: [UInt8], rounds: Int) -> [UInt8] {
        // The state after the key's block is the same for all iterations.
        let keyed = HMAC<SHA256>(key: SymmetricKey(data: password))
        var first = keyed
        first.update(data: salt + [0, 0, 0, 1])
        var block = Array(first.finalize())
        var sum = block
        for _ in 1..<max(1, rounds) {
            var next = keyed
            next.update(data: block)
            let code = next.finalize()
            code.withUnsafeBytes { bytes in
                // Bounds: both are SHA-256 codes of 32 bytes.
                for index in block.indices {
                    block[index] = bytes[index]
                    sum[index] ^= bytes[index]
                }
            }
        }
        return sum
    }
}
