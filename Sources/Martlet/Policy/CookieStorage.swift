// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import FileStorage
internal import Logging
internal import Synchronization
internal import TransferEngine

/// A cookie storage, shared by sessions or used by one, according to RFC 6265bis.
///
/// Every method may be called from any thread. Only ``save(to:includingSessionCookies:)-(String,_)`` writes to disk.
public final class CookieStorage: Sendable {
    /// The storage of the default configuration; it exists as long as the process.
    public static let shared = CookieStorage()

    /// Created with the first cookie, because reading the public suffix list takes milliseconds.
    private let jar = Mutex<CookieJar?>(nil)
    private let clock: @Sendable () -> Int64
    /// Returns the public suffix list; called with the first cookie.
    private let suffixes: @Sendable () -> InstalledSuffixes

    /// Creates an empty, unshared storage.
    public convenience init() { self.init { SystemClock.now } }

    /// - Parameters:
    ///   - suffixes: Returns the public suffix list.
    ///   - clock: Returns the seconds since 1970.
    init(
        suffixes: @escaping @Sendable () -> InstalledSuffixes = { .system },
        clock: @escaping @Sendable () -> Int64
    ) {
        self.suffixes = suffixes
        self.clock = clock
    }

    /// All cookies, including expired ones.
    public var cookies: [Cookie] { self.jar.withLock { $0?.cookies ?? [] } }

    /// The cookies for a request to a URL, in the order of the `Cookie` field.
    public func cookies(for url: HTTPURL) -> [Cookie] {
        self.jar.withLock { $0?.cookies(for: url, now: self.clock()) ?? [] }
    }

    /// Adds a cookie, or replaces the one of the same name, domain and path.
    public func set(_ cookie: Cookie) {
        self.changeJar { $0.set(cookie, now: self.clock()) }
    }

    /// Stores a cookie from the value of a `Set-Cookie` field, as if `url` had sent it.
    public func set(setCookie: String, from url: HTTPURL) {
        self.changeJar { $0.receive([setCookie], from: url, now: self.clock()) }
    }

    /// Deletes a cookie.
    public func remove(_ cookie: Cookie) {
        self.jar.withLock { _ = $0?.remove(cookie) }
    }

    /// Deletes every cookie.
    public func removeAll() {
        self.jar.withLock { $0?.removeAll() }
    }

    /// Adds the cookies of a Netscape cookie file, as written by browser exports, curl and wget; may block.
    ///
    /// - Parameter path: The file's path.
    /// - Returns: The problems of the file, by line; valid lines are read nevertheless.
    /// - Throws: ``TransferError`` with `file` if it does not exist or cannot be read.
    @discardableResult
    public func load(from path: String) throws(TransferError) -> [CookieFileProblem] {
        let bytes: [UInt8]?
        do throws(StorageError) {
            bytes = try AtomicFile.read(path, atMost: Self.largestFile)
        } catch {
            throw TransferError(TransferFailure(error))
        }
        guard let bytes else { throw TransferError(.file, "the cookie file '\(path)' does not exist") }
        return self.changeJar { $0.load(netscape: bytes, now: self.clock()) }
    }

    /// Writes the cookies to a Netscape cookie file, atomically and readable by its owner only; may block.
    ///
    /// - Parameters:
    ///   - path: The file's path; an existing file is replaced.
    ///   - includingSessionCookies: Whether cookies without an expiry are written, too.
    /// - Throws: ``TransferError`` with `file` or `noSpace`; an existing file is then unchanged.
    public func save(to path: String, includingSessionCookies: Bool = false) throws(TransferError) {
        let text = self.jar.withLock { jar in
            jar?.removeExpired(now: self.clock())
            return (jar ?? CookieJar()).netscapeText(includingSessionCookies: includingSessionCookies)
        }
        do throws(StorageError) {
            try AtomicFile.replace(path, with: Array(text.utf8))
        } catch {
            throw TransferError(TransferFailure(error))
        }
    }

    private static let largestFile = 64 << 20

    private func changeJar<Value>(_ change: (inout CookieJar) -> Value) -> Value {
        self.jar.withLock { jar in
            var changed = jar ?? CookieJar(publicSuffixes: self.suffixes().list)
            // A second reference would make the change copy the jar.
            jar = nil
            defer { jar = changed }
            return change(&changed)
        }
    }

    // MARK: Requests

    func field(for url: HTTPURL) -> String? {
        self.jar.withLock { $0?.field(for: url, now: self.clock()) }
    }

    /// Stores the cookies of a response.
    ///
    /// - Parameters:
    ///   - values: The values of the `Set-Cookie` fields.
    ///   - url: The URL of the request.
    ///   - logger: Gets a warning once if no public suffix list is installed.
    func receive(_ values: [String], from url: HTTPURL, logger: Logger?) {
        self.changeJar { $0.receive(values, from: url, now: self.clock()) }
        self.suffixes().warnIfMissing(logger)
    }
}
