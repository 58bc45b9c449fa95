// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Synchronization
internal import TransferCore

/// The cookie of the browsers that have signed in to a receiver.
///
/// Its key is derived from all credentials by a slow hash: people choose passwords, and the receiver of a cookie, such
/// as another server of the same host, must not be able to test many guesses of them. It is the same after a restart.
final class SignInKey: Sendable {
    /// The number of iterations.
    static let usualRounds = 100_000

    private let secret: [UInt8]
    private let rounds: Int
    private let made = Mutex<SignInCookie?>(nil)

    init(_ credentials: [AccessCredential], rounds: Int = SignInKey.usualRounds) {
        // Independent of the order of the credentials.
        let digests = credentials.map { Hexadecimal.encode($0.check.bytes) }.sorted()
        self.secret = Array(digests.joined().utf8)
        self.rounds = rounds
    }

    /// The cookie; the first call takes a part of a second, and others wait for it.
    var cookie: SignInCookie {
        self.made.withLock { made in
            if let made { return made }
            let key = PasswordHash.derive(self.secret, salt: Array("martlet sign-in".utf8), rounds: self.rounds)
            let cookie = SignInCookie(secret: key, purpose: "martlet receiver cookie 1")
            made = cookie
            return cookie
        }
    }
}
