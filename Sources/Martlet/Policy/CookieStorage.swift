internal import FileStorage
internal import Synchronization
internal import TransferEngine

/// Cookies that sessions share or have to themselves, kept as RFC 6265bis says.
///
/// Every method may be called from any thread. Nothing is on disk but what ``save(to:includingSessionCookies:)`` writes.
public final class CookieStorage: Sendable {
    /// What the default configuration uses, for as long as the program runs.
    public static let shared = CookieStorage()

    /// Made when the first cookie comes: reading the list of public suffixes takes milliseconds.
    private let jar = Mutex<CookieJar?>(nil)
    private let clock: @Sendable () -> Int64

    /// Creates an empty storage, to be private to whom it is given.
    public convenience init() { self.init { WallClock.now } }

    /// - Parameter clock: Tells the seconds since 1970.
    init(clock: @escaping @Sendable () -> Int64) {
        self.clock = clock
    }

    /// The system's public suffix list, where it has one: no cookie is taken for all of `co.uk`.
    private static let systemSuffixes: PublicSuffixes? = {
        let path = "/usr/share/publicsuffix/public_suffix_list.dat"
        guard let bytes = try? AtomicFile.read(path, atMost: 4 << 20) else { return nil }
        return PublicSuffixes(bytes: bytes)
    }()

    /// All cookies, those that have ended included.
    public var cookies: [Cookie] { self.jar.withLock { $0?.cookies ?? [] } }

    /// The cookies that go with a request to a URL, in the order of the `Cookie` field.
    public func cookies(for url: HTTPURL) -> [Cookie] {
        self.jar.withLock { $0?.cookies(for: url, now: self.clock()) ?? [] }
    }

    /// Adds a cookie, or replaces the one of the same name, domain and path.
    public func set(_ cookie: Cookie) {
        self.changeJar { $0.set(cookie, now: self.clock()) }
    }

    /// Takes a cookie from the value of a `Set-Cookie` field, as if `url` had sent it.
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

    /// Adds the cookies of a Netscape cookie file, as browsers' exports, curl and wget write it; may block.
    ///
    /// - Parameter path: The file's path.
    /// - Returns: What is wrong with the file, line by line; the good lines are taken in spite of it.
    /// - Throws: ``TransferError`` with `file` where it does not exist or cannot be read.
    @discardableResult
    public func load(from path: String) throws(TransferError) -> [CookieFileProblem] {
        let bytes: [UInt8]?
        do throws(StorageError) {
            bytes = try AtomicFile.read(path, atMost: Self.largestFile)
        } catch {
            throw TransferError(TransferFailure(error))
        }
        guard let bytes else { throw TransferError(.file, "there is no cookie file '\(path)'") }
        return self.changeJar { $0.load(netscape: bytes, now: self.clock()) }
    }

    /// Writes the cookies to a Netscape cookie file that only its owner can read, whole or not at all; may block.
    ///
    /// - Parameters:
    ///   - path: The file's path; an existing file is replaced.
    ///   - includingSessionCookies: Whether cookies without an expiry are written, too.
    /// - Throws: ``TransferError`` with `file` or `noSpace`; an existing file is then untouched.
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
            var changed = jar ?? CookieJar(publicSuffixes: Self.systemSuffixes)
            // Not two holders at once: a jar in use would be copied by the change.
            jar = nil
            defer { jar = changed }
            return change(&changed)
        }
    }

    // MARK: For requests

    func field(for url: HTTPURL) -> String? {
        self.jar.withLock { jar in
            guard let jar, !jar.isEmpty else { return nil }
            return jar.field(for: url, now: self.clock())
        }
    }

    func receive(_ values: [String], from url: HTTPURL) {
        self.changeJar { $0.receive(values, from: url, now: self.clock()) }
    }
}
