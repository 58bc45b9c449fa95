// SPDX-License-Identifier: Apache-2.0
internal import Crypto
package import TransferCore

/// The cookie of a browser whose user has signed in.
///
/// Its value is the time of its end, a random number, an optional subject, and a code that authenticates these with a
/// key derived from a secret. The server stores only those that ended early (``SignOuts``), so a cookie survives its
/// restart, and a new secret ends all cookies. The secret itself never is in a cookie: other servers of the same host
/// receive cookies too, whatever their ports.
package struct SignInCookie: Sendable {
    /// The seconds for which a cookie is valid: a week.
    package static let lifetime = 7.0 * 86_400

    /// The content of a valid cookie.
    package struct Content: Sendable, Hashable {
        /// The random number, which a renewed cookie keeps.
        package var id: String
        /// The time of the end, in seconds since 1970.
        package var expires: Int64
        /// The seconds until the end.
        package var left: Double
        /// The subject of the cookie, if any.
        package var subject: String?
    }

    /// The name, which differs between secrets: cookies of two servers on one host must not replace each other.
    package let name: String
    private let key: SymmetricKey

    /// Derives the key.
    ///
    /// - Parameters:
    ///   - secret: The secret; a cookie's receiver can test guesses of it, so it must not be guessable.
    ///   - purpose: A text that differs for each use of the same secret.
    package init(secret: [UInt8], purpose: String) {
        self.key = SymmetricKey(
            data: HMAC<SHA256>.authenticationCode(for: Array(purpose.utf8), using: SymmetricKey(data: secret))
        )
        let name = HMAC<SHA256>.authenticationCode(for: Array("name".utf8), using: self.key)
        self.name = "martlet-" + Hexadecimal.encode(Array(name).prefix(4))
    }

    /// The end of a new cookie, in seconds since 1970.
    ///
    /// - Parameters:
    ///   - now: The current time, in seconds since 1970.
    ///   - floor: The time at or before which cookies that have ended end.
    /// - Returns: The time.
    static func end(now: Double, after floor: Int64) -> Int64 {
        max(Int64(now + self.lifetime), floor.adding(clamping: 1))
    }

    /// Creates the value of a cookie.
    ///
    /// - Parameters:
    ///   - subject: What the cookie stands for; without `.`, `;` and blanks.
    ///   - renewed: The cookie that this one replaces; the user who signs out ends both.
    ///   - now: The current time, in seconds since 1970.
    ///   - signOuts: The cookies that have ended early.
    /// - Returns: The value.
    package func value(
        subject: String? = nil,
        renewing renewed: Content? = nil,
        now: Double,
        signOuts: SignOuts? = nil
    ) -> String {
        let id = renewed?.id ?? Hexadecimal.encode((0..<8).map { _ in UInt8.random(in: .min ... .max) })
        let end = Self.end(now: now, after: signOuts?.floor ?? 0)
        let content = "\(end).\(id)" + (subject.map { ".\($0)" } ?? "")
        return "\(content).\(Hexadecimal.encode(Array(self.code(content))))"
    }

    /// Returns the content of a cookie; `nil` if it is not valid.
    package func check(_ value: String, now: Double) -> Content? {
        guard value.utf8.count < 200, let dot = value.lastIndex(of: "."),
            let code = Hexadecimal.decode(value[value.index(after: dot)...].utf8)
        else { return nil }
        let parts = value[..<dot].split(separator: ".", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), let expires = Int64(parts[0]) else { return nil }
        let content = Array(value[..<dot].utf8)
        // Compared in constant time.
        guard HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: content, using: self.key) else { return nil }
        let left = Double(expires) - now
        guard left > 0 else { return nil }
        let subject = parts.count > 2 ? String(parts[2]) : nil
        return Content(id: String(parts[1]), expires: expires, left: left, subject: subject)
    }

    /// The valid cookies of a request.
    ///
    /// - Parameters:
    ///   - fields: The request header fields.
    ///   - now: The current time, in seconds since 1970.
    ///   - signOuts: The cookies that have ended early.
    /// - Returns: The cookies, in order.
    package func all(_ fields: HeaderFields, now: Double, signOuts: SignOuts? = nil) -> some Sequence<Content> {
        RequestCookies.all(fields).lazy.filter { $0.name == self.name }.compactMap { self.check($0.value, now: now) }
            .filter { signOuts?.contains($0) != true }
    }

    /// The first valid cookie of a request, or `nil`.
    package func check(_ fields: HeaderFields, now: Double, signOuts: SignOuts? = nil) -> Content? {
        self.all(fields, now: now, signOuts: signOuts).first { _ in true }
    }

    /// A subject for something secret, from which nothing can be learned without the key.
    package func subject(of secret: [UInt8]) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array("subject".utf8) + secret, using: self.key)
        return Hexadecimal.encode(Array(code).prefix(8))
    }

    /// The `Set-Cookie` field of a value; an empty value deletes the cookie.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - path: The path to which browsers send it, and below.
    ///   - isSecure: Whether browsers send it over encrypted connections only.
    /// - Returns: The field's value.
    package func field(_ value: String, path: String = "/", isSecure: Bool = false) -> String {
        let age = value.isEmpty ? 0 : Int64(Self.lifetime)
        return "\(self.name)=\(value); Path=\(path); Max-Age=\(age); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }

    private func code(_ content: String) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: Array(content.utf8), using: self.key)
    }
}
