// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Logging
internal import TransferCore

/// A cookie storage, shared by sessions or used by one, according to RFC 6265bis.
///
/// Every method may be called from any thread. Only ``save(to:includingSessionCookies:)-(String,_)`` writes to disk.
public final class CookieStorage: Sendable {
    /// The storage of the default configuration; it exists as long as the process.
    public static let shared = CookieStorage()

    let store: CookieStore

    /// Creates an empty, unshared storage.
    public convenience init() { self.init(CookieStore()) }

    /// Creates a storage of the cookies of a store.
    init(_ store: CookieStore) { self.store = store }

    /// All cookies, including expired ones.
    public var cookies: [Cookie] { self.store.cookies }

    /// The cookies for a request to a URL, in the order of the `Cookie` field.
    public func cookies(for url: HTTPURL) -> [Cookie] { self.store.cookies(for: url) }

    /// Adds a cookie, or replaces the one of the same name, domain and path.
    public func set(_ cookie: Cookie) { self.store.set(cookie) }

    /// Stores a cookie from the value of a `Set-Cookie` field, as if `url` had sent it.
    public func set(setCookie: String, from url: HTTPURL) { self.store.receive([setCookie], from: url) }

    /// Deletes a cookie.
    public func remove(_ cookie: Cookie) { self.store.remove(cookie) }

    /// Deletes every cookie.
    public func removeAll() { self.store.removeAll() }

    /// Adds the cookies of a Netscape cookie file, as written by browser exports, curl and wget; may block.
    ///
    /// - Parameter path: The file's path.
    /// - Returns: The problems of the file, by line; valid lines are read nevertheless.
    /// - Throws: ``TransferError`` with `file` if it does not exist or cannot be read.
    @discardableResult
    public func load(from path: String) throws(TransferError) -> [CookieFileProblem] {
        let problems: [CookieFileProblem]?
        do throws(StorageError) {
            problems = try self.store.load(from: path)
        } catch {
            throw TransferError(TransferFailure(error))
        }
        guard let problems else { throw TransferError(.file, "the cookie file '\(path)' does not exist") }
        return problems
    }

    /// Writes the cookies to a Netscape cookie file, atomically and readable by its owner only; may block.
    ///
    /// - Parameters:
    ///   - path: The file's path; an existing file is replaced, and a device such as `/dev/null` is written to.
    ///   - includingSessionCookies: Whether cookies without an expiry are written, too.
    /// - Throws: ``TransferError`` with `file` or `noSpace`; an existing file is then unchanged.
    public func save(to path: String, includingSessionCookies: Bool = false) throws(TransferError) {
        do throws(StorageError) {
            try self.store.save(to: path, includingSessionCookies: includingSessionCookies)
        } catch {
            throw TransferError(TransferFailure(error))
        }
    }

    /// Stores the cookies of a response.
    ///
    /// - Parameters:
    ///   - values: The values of the `Set-Cookie` fields.
    ///   - url: The URL of the request.
    ///   - logger: Gets a warning once if no public suffix list is installed.
    func receive(_ values: [String], from url: HTTPURL, logger: Logger?) {
        self.store.receive(values, from: url)
        guard let logger, let warning = self.store.suffixes.takeWarning() else { return }
        logger.warning("\(warning)", metadata: ["path": "\(self.store.suffixes.path)"])
    }
}

/// Cookies that are kept by another library's storage.
package protocol ForeignCookies: Sendable {
    /// The value of the `Cookie` field of a request, or `nil`.
    ///
    /// - Parameters:
    ///   - url: The request's URL, also after a redirect.
    ///   - task: The request's task, unless it was released.
    /// - Returns: The value.
    func field(for url: HTTPURL, of task: TransferTask?) -> String?

    /// Stores the cookies of a response, also of a redirect.
    ///
    /// - Parameters:
    ///   - fields: The response's fields.
    ///   - url: The request's URL.
    ///   - task: The request's task, unless it was released.
    func received(_ fields: HeaderFields, from url: HTTPURL, of task: TransferTask?)
}
