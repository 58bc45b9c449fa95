// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import Martlet

extension CookieStorage {
    /// The cookies for a request to a URL, in the order of the `Cookie` field; none if it is not an http or https URL.
    public func cookies(for url: URL) -> [Cookie] { (try? HTTPURL(url)).map { self.cookies(for: $0) } ?? [] }

    /// Stores a cookie from the value of a `Set-Cookie` field, as if `url` had sent it.
    ///
    /// - Throws: ``TransferError`` with `badURL`.
    public func set(setCookie: String, from url: URL) throws(TransferError) {
        self.set(setCookie: setCookie, from: try HTTPURL(url))
    }

    /// Adds the cookies of a Netscape cookie file; see ``load(from:)``.
    ///
    /// - Parameter url: The file's URL.
    /// - Returns: The problems of the file, by line; valid lines are read nevertheless.
    /// - Throws: ``TransferError`` with `file`.
    @discardableResult
    public func load(from url: URL) throws(TransferError) -> [CookieFileProblem] {
        try self.load(from: url.filePath)
    }

    /// Writes the cookies to a Netscape cookie file; see ``save(to:includingSessionCookies:)``.
    ///
    /// - Parameters:
    ///   - url: The file's URL; an existing file is replaced.
    ///   - includingSessionCookies: Whether cookies without an expiry are written, too.
    /// - Throws: ``TransferError`` with `file` or `noSpace`; an existing file is then unchanged.
    public func save(to url: URL, includingSessionCookies: Bool = false) throws(TransferError) {
        try self.save(to: url.filePath, includingSessionCookies: includingSessionCookies)
    }
}

extension Cookie {
    /// Creates a cookie from its parts.
    ///
    /// - Parameters:
    ///   - name: The name; may be empty if the value is not.
    ///   - value: The value.
    ///   - domain: The host; with a leading dot also the hosts below it.
    ///   - path: The path to which, and below which, the cookie is sent.
    ///   - expires: The time at which it expires, or `nil` for a cookie of this session.
    ///   - isSecure: Whether it is sent by https only.
    ///   - isHTTPOnly: Whether scripts are kept from it.
    ///   - sameSite: The rule for requests from other sites.
    ///   - created: The time at which it was made.
    /// - Throws: ``SyntaxError``.
    public init(
        name: String,
        value: String,
        domain: String,
        path: String = "/",
        expires: Date? = nil,
        isSecure: Bool = false,
        isHTTPOnly: Bool = false,
        sameSite: SameSite? = nil,
        created: Date = Date()
    ) throws(SyntaxError) {
        try self.init(
            name: name,
            value: value,
            domain: domain,
            path: path,
            expires: expires?.wholeSeconds,
            isSecure: isSecure,
            isHTTPOnly: isHTTPOnly,
            sameSite: sameSite,
            created: created.wholeSeconds
        )
    }

    /// The time at which it expires; `nil` for a cookie of this session.
    public var expiryDate: Date? { self.expires.map { Date(wholeSeconds: $0) } }

    /// The time at which it was first stored.
    public var creationDate: Date { Date(wholeSeconds: self.created) }

    /// Whether it has expired at a time.
    public func isExpired(at date: Date) -> Bool { self.isExpired(at: date.wholeSeconds) }
}
