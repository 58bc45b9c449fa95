// SPDX-License-Identifier: Apache-2.0
/// The contents of a supported Digest challenge.
///
/// - Source: RFC 7616 §3.3.
struct DigestChallenge: Hashable, Sendable {
    let realm: String
    let nonce: String
    let opaque: String?
    /// The algorithm's name as sent, or `nil` if none was sent, which means MD5.
    let algorithmAsSent: String?
    let algorithm: DigestAuthentication.Algorithm
    /// Whether the response has `qop=auth`; otherwise it follows RFC 2069.
    let hasProtection: Bool
    let hashesUser: Bool
    let isUTF8: Bool
    let isStale: Bool

    /// Parses a challenge; `nil` if it is malformed or not supported.
    init?(_ challenge: AuthenticationChallenge) {
        guard challenge.scheme == "digest", let realm = challenge.realm, let nonce = challenge.parameters["nonce"]
        else { return nil }
        let lowercased = { (name: String) in
            challenge.parameters[name].map { String(decoding: $0.utf8.map(ASCII.lowercase), as: UTF8.self) }
        }
        self.realm = realm
        self.nonce = nonce
        self.opaque = challenge.parameters["opaque"]
        self.algorithmAsSent = challenge.parameters["algorithm"]
        switch lowercased("algorithm") {
        case nil, "md5": self.algorithm = .md5
        case "md5-sess": self.algorithm = .md5Session
        case "sha-256": self.algorithm = .sha256
        case "sha-256-sess": self.algorithm = .sha256Session
        default: return nil
        }
        let protections = (lowercased("qop") ?? "").utf8.split { $0 == Byte.comma || Byte.isBlank($0) }
        self.hasProtection = protections.contains { $0.elementsEqual("auth".utf8) }
        // Only auth-int is unsupported; a session key requires a client nonce, which RFC 2069 does not have.
        guard self.hasProtection || protections.isEmpty && !self.algorithm.isSession else { return nil }
        self.hashesUser = lowercased("userhash") == "true"
        self.isUTF8 = lowercased("charset") == "utf-8"
        self.isStale = lowercased("stale") == "true"
        // They are sent back and must not break the line.
        guard [realm, nonce, self.opaque ?? ""].allSatisfy(DigestChallenge.isPlain) else { return nil }
    }

    /// Whether a text contains no control characters.
    static func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
}
