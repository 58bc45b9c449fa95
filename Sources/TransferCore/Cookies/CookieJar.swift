// SPDX-License-Identifier: Apache-2.0
/// The cookies of many hosts: stores those that servers set and selects those to send.
///
/// Pure value: it reads no clock and no file. The cost of a lookup is linear in the labels and cookies of the host.
///
/// - Invariant: No two cookies have the same name, domain, path and host-only flag.
/// - Source: RFC 6265bis §5.7, §5.8.
package struct CookieJar: Sendable {
    /// The maximum number of cookies per domain.
    package static let mostPerDomain = 180
    /// The maximum total number of cookies.
    package static let most = 3000

    private struct Entry: Sendable {
        var cookie: Cookie
        /// Increases with every new cookie; orders cookies of the same second.
        let order: UInt64
        /// The jar's count of accesses when this cookie was last set or sent (RFC 6265bis, last-access-time).
        ///
        /// A count, because many accesses share a second and the clock can be set back.
        var lastAccess: UInt64

        var age: (created: Int64, order: UInt64) { (self.cookie.created, self.order) }
        /// The order of eviction; among the cookies of one request, the oldest is first.
        var disuse: (lastAccess: UInt64, order: UInt64) { (self.lastAccess, self.order) }

        func isOlder(than other: Entry) -> Bool { self.age < other.age }
    }

    /// The domains for which no cookie is accepted.
    package let publicSuffixes: PublicSuffixes
    /// By domain, unordered.
    private var domains: [String: [Entry]] = [:]
    private var nextOrder: UInt64 = 0
    private var accesses: UInt64 = 0
    /// The number of cookies, including expired ones.
    package private(set) var count = 0

    /// Creates an empty jar.
    ///
    /// - Parameter publicSuffixes: A public suffix list; by default the built-in one, which is minimal.
    package init(publicSuffixes: PublicSuffixes = .builtIn) {
        self.publicSuffixes = publicSuffixes
    }

    package var isEmpty: Bool { self.count == 0 }

    /// All cookies, the oldest first.
    package var cookies: [Cookie] {
        self.domains.values.joined().sorted { $0.isOlder(than: $1) }.map(\.cookie)
    }

    // MARK: Storing

    /// Stores the cookies that a response sets; malformed and forbidden ones are ignored.
    ///
    /// - Parameters:
    ///   - setCookie: The values of the response's Set-Cookie fields, in order.
    ///   - url: The URL of the request that received the response.
    ///   - now: The current time in seconds since 1970.
    package mutating func receive(_ setCookie: [String], from url: HTTPURL, now: Int64) {
        for field in setCookie {
            guard
                let cookie = Cookie(setCookie: field, from: url, now: now, publicSuffixes: self.publicSuffixes),
                url.scheme == .https || !self.hasSecure(like: cookie, now: now)
            else { continue }
            self.insert(cookie, now: now)
        }
        self.evict(now: now)
    }

    /// Stores a cookie created by the user, for any domain; an expired one deletes the one it replaces.
    package mutating func set(_ cookie: Cookie, now: Int64) {
        self.insert(cookie, now: now)
        self.evict(now: now)
    }

    /// Stores many cookies, and drops the first ones if there are too many.
    ///
    /// - Returns: The number of dropped cookies.
    mutating func set(_ cookies: [Cookie], now: Int64) -> Int {
        var dropped = 0
        for cookie in cookies { dropped += self.insert(cookie, now: now) ? 1 : 0 }
        return dropped + self.evict(now: now)
    }

    /// Whether a cookie not sent over https would overwrite or hide a secure cookie of the same name.
    ///
    /// - Source: RFC 6265bis §5.7, step 16.
    private func hasSecure(like cookie: Cookie, now: Int64) -> Bool {
        let isLike = { (entry: Entry) in
            entry.cookie.isSecure && entry.cookie.name == cookie.name && !entry.cookie.isExpired(at: now)
                && CookieDomain.pathMatches(cookie.path, cookiePath: entry.cookie.path)
        }
        return self.domains.contains { domain, entries in
            (CookieDomain.matches(domain, domain: cookie.domain) || CookieDomain.matches(cookie.domain, domain: domain))
                && entries.contains(where: isLike)
        }
    }

    /// Stores a cookie; returns whether another one was dropped because its domain has too many.
    @discardableResult
    private mutating func insert(_ cookie: Cookie, now: Int64) -> Bool {
        var entries = self.domains.removeValue(forKey: cookie.domain) ?? []
        self.count -= entries.count
        defer {
            self.count += entries.count
            if !entries.isEmpty { self.domains[cookie.domain] = entries }
        }
        if let index = entries.firstIndex(where: { $0.cookie.isReplaced(by: cookie) }) {
            if cookie.isExpired(at: now) {
                entries.remove(at: index)
            } else if entries[index].cookie.isExpired(at: now) {
                entries[index] = self.entry(cookie)
            } else {
                let created = entries[index].cookie.created
                entries[index].cookie = cookie
                entries[index].cookie.created = created
                entries[index].lastAccess = self.nextAccess()
            }
            return false
        }
        guard !cookie.isExpired(at: now) else { return false }
        entries.append(self.entry(cookie))
        guard entries.count > Self.mostPerDomain else { return false }
        entries.removeAll { $0.cookie.isExpired(at: now) }
        guard entries.count > Self.mostPerDomain else { return false }
        // Insecure cookies are dropped first (§5.7): an http host must not displace cookies sent over https.
        let evicted = entries.indices.min { left, right in
            let (left, right) = (entries[left], entries[right])
            return left.cookie.isSecure == right.cookie.isSecure
                ? left.disuse < right.disuse : right.cookie.isSecure
        }
        if let evicted { entries.remove(at: evicted) }
        return true
    }

    private mutating func entry(_ cookie: Cookie) -> Entry {
        self.nextOrder += 1
        return Entry(cookie: cookie, order: self.nextOrder, lastAccess: self.nextAccess())
    }

    private mutating func nextAccess() -> UInt64 {
        self.accesses += 1
        return self.accesses
    }

    /// Drops expired cookies, then the least recently used, down to the limit.
    ///
    /// - Returns: The number of dropped cookies that had not expired.
    /// - Source: RFC 6265bis §5.7.
    @discardableResult
    private mutating func evict(now: Int64) -> Int {
        guard self.count > Self.most else { return 0 }
        self.removeExpired(now: now)
        let excess = self.count - Self.most
        guard excess > 0 else { return 0 }
        // Only these pairs are sorted: a server may add cookies to a full jar with every response.
        var disuses: [(lastAccess: UInt64, order: UInt64)] = []
        disuses.reserveCapacity(self.count)
        for entries in self.domains.values { for entry in entries { disuses.append(entry.disuse) } }
        disuses.sort(by: <)
        let last = disuses[excess - 1]
        self.removeEntries { $0.disuse <= last }
        return excess
    }

    // MARK: Sending

    /// The cookies to send to a URL: those of the longest path first, among them the oldest first.
    ///
    /// This is not an access; see ``field(for:now:)``.
    package func cookies(for url: HTTPURL, now: Int64) -> [Cookie] {
        self.found(for: url, now: now).map(\.cookie)
    }

    private func found(for url: HTTPURL, now: Int64) -> [Entry] {
        guard !self.isEmpty else { return [] }
        let host = url.host
        let path = url.path
        var found: [Entry] = []
        for domain in [host] + CookieDomain.parents(of: host) {
            for entry in self.domains[domain] ?? [] {
                let cookie = entry.cookie
                if !cookie.isHostOnly || domain == host, !cookie.isSecure || url.scheme == .https,
                    !cookie.isExpired(at: now), CookieDomain.pathMatches(path, cookiePath: cookie.path)
                {
                    found.append(entry)
                }
            }
        }
        found.sort { left, right in
            let lengths = (left.cookie.path.utf8.count, right.cookie.path.utf8.count)
            return lengths.0 == lengths.1 ? left.isOlder(than: right) : lengths.0 > lengths.1
        }
        return found
    }

    /// The value of the Cookie field for a request to a URL, or `nil` if there is no cookie to send.
    ///
    /// The cookies count as accessed: the least recently accessed ones are evicted first.
    package mutating func field(for url: HTTPURL, now: Int64) -> String? {
        let found = self.found(for: url, now: now)
        guard !found.isEmpty else { return nil }
        let access = self.nextAccess()
        for entry in found {
            let domain = entry.cookie.domain
            guard let index = self.domains[domain]?.firstIndex(where: { $0.order == entry.order }) else { continue }
            self.domains[domain]?[index].lastAccess = access
        }
        return found.map(\.cookie.pair).joined(separator: "; ")
    }

    // MARK: Removing

    /// Removes the cookie with the same name, domain, path and host-only flag; returns whether it existed.
    @discardableResult
    package mutating func remove(_ cookie: Cookie) -> Bool {
        let count = self.count
        self.removeEntries { $0.cookie.isReplaced(by: cookie) }
        return self.count < count
    }

    /// Removes the cookies of a domain and its subdomains.
    package mutating func removeAll(domain: String) {
        guard let domain = CookieDomain.canonical(domain.utf8) else { return }
        self.removeEntries { CookieDomain.matches($0.cookie.domain, domain: domain) }
    }

    /// Removes all cookies.
    package mutating func removeAll() {
        self.domains = [:]
        self.count = 0
    }

    /// Removes the session cookies, as when a browser is closed.
    package mutating func removeSessionCookies() {
        self.removeEntries { $0.cookie.expires == nil }
    }

    /// Removes the expired cookies.
    package mutating func removeExpired(now: Int64) {
        self.removeEntries { $0.cookie.isExpired(at: now) }
    }

    private mutating func removeEntries(_ isRemoved: (Entry) -> Bool) {
        for (domain, entries) in self.domains where entries.contains(where: isRemoved) {
            let kept = entries.filter { !isRemoved($0) }
            self.domains[domain] = kept.isEmpty ? nil : kept
            self.count -= entries.count - kept.count
        }
    }
}
