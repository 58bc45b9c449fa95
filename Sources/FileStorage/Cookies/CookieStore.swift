// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
import Synchronization
package import TransferCore
import TransferEngine

/// A cookie jar that many threads use, with its files.
///
/// Every method may be called from any thread. Only ``load(from:)`` and ``save(to:includingSessionCookies:)`` use the
/// disk, and the first cookie, because the public suffix list is read then.
package final class CookieStore: CookieKeeper {
    /// The maximum size of a cookie file in bytes.
    private static let largestFile = 64 << 20

    /// Created with the first cookie, because reading the public suffix list takes milliseconds.
    private let jar = Mutex<CookieJar?>(nil)
    private let hasCookies = Atomic(false)
    private let clock: @Sendable () -> Int64
    private let installedSuffixes: @Sendable () -> InstalledSuffixes

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - suffixes: Returns the public suffix list; called with the first cookie.
    ///   - clock: Returns the seconds since 1970.
    package init(
        suffixes: @escaping @Sendable () -> InstalledSuffixes = { .system },
        clock: @escaping @Sendable () -> Int64 = { FileCalls.nanoseconds(of: CLOCK_REALTIME) / 1_000_000_000 }
    ) {
        self.installedSuffixes = suffixes
        self.clock = clock
    }

    /// The public suffix list.
    package var suffixes: InstalledSuffixes { self.installedSuffixes() }

    /// Whether there is no cookie, not even an expired one.
    package var isEmpty: Bool { !self.hasCookies.load(ordering: .acquiring) }

    /// All cookies, including expired ones.
    package var cookies: [Cookie] { self.jar.withLock { $0?.cookies ?? [] } }

    /// The cookies for a request to a URL, in the order of the `Cookie` field.
    package func cookies(for url: HTTPURL) -> [Cookie] {
        self.jar.withLock { $0?.cookies(for: url, now: self.clock()) ?? [] }
    }

    /// Adds a cookie, or replaces the one of the same name, domain and path.
    package func set(_ cookie: Cookie) { self.change { $0.set(cookie, now: self.clock()) } }

    /// Deletes a cookie.
    package func remove(_ cookie: Cookie) { self.jar.withLock { _ = $0?.remove(cookie) } }

    /// Deletes every cookie.
    package func removeAll() { self.jar.withLock { $0?.removeAll() } }

    /// The value of the `Cookie` field for a request to a URL, or `nil`.
    package func field(for url: HTTPURL) -> String? {
        if self.isEmpty { return nil }
        return self.jar.withLock { $0?.field(for: url, now: self.clock()) }
    }

    /// Stores the cookies of a response.
    ///
    /// - Parameters:
    ///   - values: The values of its `Set-Cookie` fields.
    ///   - url: The URL of its request.
    package func receive(_ values: [String], from url: HTTPURL) {
        self.change { $0.receive(values, from: url, now: self.clock()) }
    }

    // MARK: Files

    /// Adds the cookies of a Netscape cookie file, as written by browser exports, curl and wget.
    ///
    /// - Parameter path: The file's path.
    /// - Returns: The problems of the file, by line; valid lines are read nevertheless. `nil` if it does not exist.
    /// - Throws: ``StorageError`` if it cannot be read.
    package func load(from path: String) throws(StorageError) -> [CookieFileProblem]? {
        guard let bytes = try AtomicFile.read(path, atMost: Self.largestFile) else { return nil }
        return self.change { $0.load(netscape: bytes, now: self.clock()) }
    }

    /// Writes the cookies to a Netscape cookie file, readable by its owner only.
    ///
    /// An existing file is replaced atomically, a link's target instead of the link. A device or a pipe, such as
    /// `/dev/null`, is written to.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - includingSessionCookies: Whether cookies without an expiry are written, too.
    /// - Throws: ``StorageError`` as ``AtomicFile/replace(_:with:mode:)``; an existing file is then unchanged.
    package func save(to path: String, includingSessionCookies: Bool) throws(StorageError) {
        let text = self.jar.withLock { jar in
            jar?.removeExpired(now: self.clock())
            return (jar ?? CookieJar()).netscapeText(includingSessionCookies: includingSessionCookies)
        }
        try AtomicFile.write(Array(text.utf8), toFileOrDevice: path)
    }

    private func change<Value>(_ change: (inout CookieJar) -> Value) -> Value {
        self.jar.withLock { jar in
            var changed = jar ?? CookieJar(publicSuffixes: self.suffixes.list)
            // A second reference would make the change copy the jar.
            jar = nil
            defer {
                self.hasCookies.store(!changed.isEmpty, ordering: .releasing)
                jar = changed
            }
            return change(&changed)
        }
    }
}
