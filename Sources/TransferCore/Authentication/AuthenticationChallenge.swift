// SPDX-License-Identifier: Apache-2.0
/// An authentication method that a server or a proxy offers.
///
/// - Source: RFC 9110 §11.3, §11.6.1.
package struct AuthenticationChallenge: Hashable, Sendable {
    /// The scheme as sent, such as `Basic`.
    package let schemeAsSent: String
    /// The parameters by lower-case name; if a name is repeated, the first value counts.
    package var parameters: [String: String]
    /// The token68 in place of parameters, or `nil`.
    package var token68: String?

    package init(scheme: String, parameters: [String: String] = [:], token68: String? = nil) {
        self.schemeAsSent = scheme
        self.parameters = parameters
        self.token68 = token68
    }

    /// The scheme in lower case.
    package var scheme: String { String(decoding: self.schemeAsSent.utf8.map(ASCII.lowercase), as: UTF8.self) }

    /// The realm, for display and for a ``ProtectionSpace``; `nil` if none was sent.
    package var realm: String? { self.parameters["realm"] }

    /// Parses the values of all WWW-Authenticate or all Proxy-Authenticate fields of one response.
    ///
    /// - Parameter fields: The values in order; each may contain several challenges.
    /// - Returns: The challenges in order. If a value is malformed, the challenges before that position are returned.
    package static func parse(_ fields: [String]) -> [AuthenticationChallenge] {
        var challenges: [AuthenticationChallenge] = []
        for field in fields {
            var parser = ChallengeParser(field)
            while let challenge = parser.next() { challenges.append(challenge) }
        }
        return challenges
    }

    /// The strongest challenge that the credential can respond to, or `nil`.
    ///
    /// For a password: Digest with SHA-256, Digest with MD5, Basic; for a token: Bearer. The first of equals is chosen.
    package static func strongest(
        of challenges: [AuthenticationChallenge],
        for credential: Credential
    ) -> AuthenticationChallenge? {
        var best: (challenge: AuthenticationChallenge, strength: Int)?
        for challenge in challenges {
            let strength = challenge.strength(for: credential)
            if strength > best?.strength ?? 0 { best = (challenge, strength) }
        }
        return best?.challenge
    }

    private func strength(for credential: Credential) -> Int {
        switch (credential, self.scheme) {
        case (.password, "digest"):
            guard let digest = DigestChallenge(self) else { return 0 }
            return digest.algorithm.hash == .sha256 ? 3 : 2
        case (.password, "basic"), (.bearer, "bearer"): return 1
        default: return 0
        }
    }
}
