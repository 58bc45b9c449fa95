// SPDX-License-Identifier: Apache-2.0
internal import Crypto
internal import Control
internal import TransferCore

/// The cookie of a browser that may use the daemon's page.
///
/// Its value is the time of its end and a code that authenticates this time with a key derived from the daemon's token.
/// The daemon stores nothing, so a cookie survives its restart, and a new token ends all cookies. The token itself
/// never is in a cookie: other servers of the same host receive cookies too, whatever their ports.
struct PageCookie: Sendable {
    /// The seconds for which a cookie is valid: a week.
    static let lifetime = 7.0 * 86_400

    /// The name, which differs between tokens: cookies of two daemons on one host must not replace each other.
    let name: String
    private let key: SymmetricKey

    /// Derives the key from a token.
    init(token: String) {
        let token = SymmetricKey(data: Array(token.utf8))
        self.key = SymmetricKey(
            data: HMAC<SHA256>.authenticationCode(for: Array("martlet page cookie 1".utf8), using: token)
        )
        let name = HMAC<SHA256>.authenticationCode(for: Array("name".utf8), using: self.key)
        self.name = "martlet-" + Hexadecimal.encode(Array(name).prefix(4))
    }

    /// Creates the value of a cookie.
    func value(now: Double) -> String {
        let content = "\(Int64(now + Self.lifetime)).\(GID.random())"
        return "\(content).\(Hexadecimal.encode(Array(self.code(content))))"
    }

    /// Returns the seconds until the end of a cookie; `nil` if it is not valid.
    func left(_ value: String, now: Double) -> Double? {
        guard value.utf8.count < 200, let dot = value.lastIndex(of: "."), let first = value.firstIndex(of: "."),
            let expires = Int64(value[..<first]),
            let code = Hexadecimal.decode(value[value.index(after: dot)...].utf8)
        else { return nil }
        let content = Array(value[..<dot].utf8)
        // Compared in constant time.
        guard HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: content, using: self.key) else { return nil }
        let left = Double(expires) - now
        return left > 0 ? left : nil
    }

    /// The `Set-Cookie` field of a value; an empty value deletes the cookie.
    func field(_ value: String) -> String {
        let age = value.isEmpty ? 0 : Int64(Self.lifetime)
        return "\(self.name)=\(value); Path=/; Max-Age=\(age); HttpOnly; SameSite=Strict"
    }

    private func code(_ content: String) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: Array(content.utf8), using: self.key)
    }
}
