// SPDX-License-Identifier: Apache-2.0
/// Authentication with a digest of the password and the server's nonce, so that the password is never sent.
///
/// Pure value: the hash functions and the random client nonces are arguments. One value serves all requests that use
/// one nonce of the server; it counts them.
///
/// - Source: RFC 7616; RFC 2069 for challenges without `qop`. `auth-int` and SHA-512/256 are not supported.
package struct DigestAuthentication: Sendable {
    /// The algorithm that a challenge requires.
    package enum Algorithm: Hashable, Sendable {
        /// MD5, the default.
        case md5
        /// MD5 with a session key.
        case md5Session
        case sha256
        /// SHA-256 with a session key.
        case sha256Session

        /// The hash function of the algorithm.
        package var hash: DigestAlgorithm {
            switch self {
            case .md5, .md5Session: .md5
            case .sha256, .sha256Session: .sha256
            }
        }

        /// Whether the password's digest is computed once per session.
        package var isSession: Bool { self == .md5Session || self == .sha256Session }
    }

    /// Computes a digest; only MD5 and SHA-256 are requested.
    package typealias Hash = @Sendable (DigestAlgorithm, [UInt8]) -> [UInt8]

    private let challenge: DigestChallenge
    private let hash: Hash
    /// The client nonce of the session: the session key is computed with the first one, which is kept.
    private var sessionNonce: String?
    /// The number of requests that used the server's nonce.
    package private(set) var nonceCount: UInt32

    /// Creates the state for a challenge; `nil` if it is not a Digest challenge, is malformed or is not supported.
    ///
    /// - Parameters:
    ///   - challenge: The challenge with the nonce, which is used until the next challenge.
    ///   - nonceCount: The number of requests that have already used this nonce.
    ///   - hash: Computes digests.
    package init?(_ challenge: AuthenticationChallenge, nonceCount: UInt32 = 0, hash: @escaping Hash) {
        guard let challenge = DigestChallenge(challenge) else { return nil }
        self.nonceCount = nonceCount
        self.challenge = challenge
        self.hash = hash
    }

    package var algorithm: Algorithm { self.challenge.algorithm }

    /// The realm, without its escapes.
    package var realm: String { self.challenge.realm }

    /// The server's nonce.
    package var nonce: String { self.challenge.nonce }

    /// The opaque value to return to the server unchanged, or `nil`.
    package var opaque: String? { self.challenge.opaque }

    /// Whether only the nonce of the refused request was stale: the password was correct and is not requested again.
    package var isStale: Bool { self.challenge.isStale }

    /// Returns the value of an Authorization or a Proxy-Authorization field for the next request.
    ///
    /// - Parameters:
    ///   - user: The user's name.
    ///   - password: The password.
    ///   - method: The request's method.
    ///   - requestTarget: The target as in the request line.
    ///   - clientNonce: Random text, new for every request; a session keeps its first one.
    /// - Returns: The value, or `nil` if an argument contains a control character, which would break the line, or if
    ///   the nonce was used too often.
    package mutating func authorization(
        user: String,
        password: String,
        method: String,
        requestTarget: String,
        clientNonce: String
    ) -> String? {
        let isPlain = [user, method, requestTarget, clientNonce].allSatisfy(DigestChallenge.isPlain)
        guard isPlain, self.nonceCount < .max else { return nil }
        self.nonceCount += 1
        let clientNonce = self.sessionNonce ?? clientNonce
        if self.algorithm.isSession { self.sessionNonce = clientNonce }
        let user = self.normalized(user)
        let count = Self.eightDigits(self.nonceCount)
        let response = self.response(
            key: self.key(user, self.normalized(password), clientNonce),
            request: self.digest("\(method):\(requestTarget)"),
            count: count,
            clientNonce: clientNonce
        )
        var parts = self.userParts(user)
        parts.append("realm=\(Self.quoted(self.realm))")
        parts.append("uri=\(Self.quoted(requestTarget))")
        if let algorithm = self.challenge.algorithmAsSent { parts.append("algorithm=\(algorithm)") }
        parts.append("nonce=\(Self.quoted(self.nonce))")
        if self.challenge.hasProtection {
            parts += ["nc=\(count)", "cnonce=\(Self.quoted(clientNonce))", "qop=auth"]
        }
        parts.append("response=\"\(response)\"")
        if let opaque = self.opaque { parts.append("opaque=\(Self.quoted(opaque))") }
        return "Digest " + parts.joined(separator: ", ")
    }

    /// The digest of the secret (§3.4.2, A1).
    private func key(_ user: String, _ password: String, _ clientNonce: String) -> String {
        let key = self.digest("\(user):\(self.realm):\(password)")
        return self.algorithm.isSession ? self.digest("\(key):\(self.nonce):\(clientNonce)") : key
    }

    /// The proof (§3.4.1).
    private func response(key: String, request: String, count: String, clientNonce: String) -> String {
        guard self.challenge.hasProtection else { return self.digest("\(key):\(self.nonce):\(request)") }
        return self.digest("\(key):\(self.nonce):\(count):\(clientNonce):auth:\(request)")
    }

    /// The user name: hashed if the server requests that, otherwise quoted, or percent-encoded if it is not ASCII and
    /// the server supports UTF-8 (§3.4, §3.4.4).
    private func userParts(_ user: String) -> [String] {
        if self.challenge.hashesUser {
            return ["username=\"\(self.digest("\(user):\(self.realm)"))\"", "userhash=true"]
        }
        guard self.challenge.isUTF8, user.utf8.contains(where: { $0 >= 0x80 }) else {
            return ["username=\(Self.quoted(user))"]
        }
        var encoded: [UInt8] = []
        for byte in user.utf8 {
            if BearerAuthentication.isTokenByte(byte), byte != 0x2F {
                encoded.append(byte)
            } else {
                PercentEncoding.append(byte, to: &encoded)
            }
        }
        return ["username*=UTF-8''" + String(decoding: encoded, as: UTF8.self)]
    }

    /// The text in Unicode's normal form C if the server requests UTF-8 (§4).
    private func normalized(_ text: String) -> String {
        guard self.challenge.isUTF8 else { return text }
        return ComposedText.string(text)
    }

    private func digest(_ text: String) -> String {
        Hexadecimal.encode(self.hash(self.algorithm.hash, Array(text.utf8)))
    }

    private static func eightDigits(_ count: UInt32) -> String {
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }

    private static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = [0x22]
        for byte in text.utf8 {
            if byte == 0x22 || byte == 0x5C { bytes.append(0x5C) }
            bytes.append(byte)
        }
        bytes.append(0x22)
        return String(decoding: bytes, as: UTF8.self)
    }
}
