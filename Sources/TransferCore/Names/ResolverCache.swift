// SPDX-License-Identifier: Apache-2.0
/// The failure of a name resolution.
package struct NameFailure: Error, Hashable, Sendable {
    /// The kind of failure, which decides whether it is kept.
    package enum Kind: Hashable, Sendable {
        /// The name does not exist or has no address.
        case unknownName
        /// No name server responded; nothing is known about the name.
        case unavailable
        /// This machine had no descriptor, memory or thread for the lookup.
        case localResource
    }

    /// The kind of failure.
    package var kind: Kind
    /// The resolver's own description.
    package var message: String

    /// Creates a failure.
    package init(_ kind: Kind, _ message: String = "") {
        self.kind = kind
        self.message = message
    }
}

/// The results of name resolutions, kept for a while, and the lookups in progress.
///
/// All requests for a name share one lookup. Lookups start in the order of their first requests. Addresses and the
/// failures of unknown names are kept; getaddrinfo(3) reports no TTL, so their ages decide. If no name server responds,
/// addresses that have expired are used again (serve-stale, RFC 8767 §5).
///
/// Pure value: times are nanoseconds of a monotonic clock, requests are plain numbers.
///
/// - Invariant: At most `limit` results are kept, the most recently added ones.
package struct ResolverCache<Addresses: Sendable>: Sendable {
    /// The result of a lookup.
    package typealias Outcome = Result<Addresses, NameFailure>

    /// The time for which the failure of an unknown name is kept, in nanoseconds.
    package static var negativeAge: Int64 { 10_000_000_000 }
    /// The age up to which addresses are used if no name server responds, in nanoseconds.
    package static var staleAge: Int64 { 3_600_000_000_000 }
    /// The time after which another lookup is made for addresses that were used although expired, in nanoseconds.
    package static var stalePeriod: Int64 { 30_000_000_000 }

    fileprivate struct Entry: Sendable {
        var outcome: Outcome
        var time: Int64
        /// The time up to which the addresses are used regardless of their age.
        var staleUntil = Int64.min
        /// Whether no connection could be made to the addresses.
        var isDoubtful = false
        var ticket: UInt64
    }

    private struct Lookup: Sendable {
        var waiters: [UInt64] = []
        var isRunning = false
    }

    private let limit: Int
    private var entries: [String: Entry] = [:]
    private var order = FirstInFirstOut<(name: String, ticket: UInt64)>()
    private var lookups: [String: Lookup] = [:]
    private var queue = FirstInFirstOut<String>()
    private var nextTicket: UInt64 = 0

    /// Creates an empty cache that keeps at most `limit` results.
    package init(limit: Int = 16_384) { self.limit = max(1, limit) }

    /// The results kept.
    package var count: Int { self.entries.count }

    /// The lookups that are waiting or running.
    package var lookupCount: Int { self.lookups.count }

    /// Whether a lookup may be waiting; ``takeLookup()`` decides.
    package var hasQueue: Bool { !self.queue.isEmpty }

    // MARK: Requests

    /// Requests the addresses of a name.
    ///
    /// - Parameters:
    ///   - name: The name, in lower case.
    ///   - waiter: The number of the request.
    ///   - maximumAge: The age up to which kept addresses are used, in nanoseconds.
    ///   - now: The time.
    /// - Returns: The result if it is kept; otherwise the request waits for ``finished(_:_:now:)``, and
    ///   ``takeLookup()`` returns the name unless its lookup is running.
    package mutating func request(_ name: String, by waiter: UInt64, maximumAge: Int64, now: Int64) -> Outcome? {
        if let entry = self.entries[name], entry.isFresh(maximumAge: maximumAge, now: now) { return entry.outcome }
        if self.lookups[name] == nil { self.queue.append(name) }
        self.lookups[name, default: Lookup()].waiters.append(waiter)
        return nil
    }

    /// A request no longer needs the result.
    ///
    /// A lookup without requests is not started; a running one is completed for the cache.
    package mutating func cancelled(_ waiter: UInt64, of name: String) {
        guard let place = self.lookups[name]?.waiters.firstIndex(of: waiter) else { return }
        self.lookups[name]?.waiters.remove(at: place)
        if let lookup = self.lookups[name], lookup.waiters.isEmpty, !lookup.isRunning { self.lookups[name] = nil }
    }

    /// No connection could be made to a name's addresses: the next request looks it up again.
    package mutating func addressesFailed(_ name: String) {
        guard case .success? = self.entries[name]?.outcome else { return }
        self.entries[name]?.isDoubtful = true
    }

    // MARK: Lookups

    /// Takes the next name to look up; ``finished(_:_:now:)`` must follow.
    package mutating func takeLookup() -> String? {
        while let name = self.queue.popFirst() {
            // Names whose requests were cancelled, or that were requested again meanwhile, are left in the queue.
            guard let lookup = self.lookups[name], !lookup.isRunning else { continue }
            self.lookups[name]?.isRunning = true
            return name
        }
        return nil
    }

    /// A lookup has ended.
    ///
    /// - Returns: The requests that waited for it, and their result.
    package mutating func finished(_ name: String, _ outcome: Outcome, now: Int64) -> (waiters: [UInt64], Outcome) {
        let waiters = self.lookups.removeValue(forKey: name)?.waiters ?? []
        switch outcome {
        case .success: self.keep(outcome, of: name, now)
        case .failure(let failure) where failure.kind == .unknownName: self.keep(outcome, of: name, now)
        case .failure:
            // Nothing is known about the name: what was known before is used, unless it did not work.
            guard let entry = self.entries[name], entry.mayBeStale(now) else { break }
            self.entries[name]?.staleUntil = now + Self.stalePeriod
            return (waiters, entry.outcome)
        }
        return (waiters, outcome)
    }

    private mutating func keep(_ outcome: Outcome, of name: String, _ now: Int64) {
        if let ticket = self.entries[name]?.ticket {
            self.entries[name] = Entry(outcome: outcome, time: now, ticket: ticket)
            return
        }
        self.nextTicket += 1
        self.entries[name] = Entry(outcome: outcome, time: now, ticket: self.nextTicket)
        self.order.append((name, self.nextTicket))
        while self.entries.count > self.limit, let oldest = self.order.popFirst() {
            if self.entries[oldest.name]?.ticket == oldest.ticket { self.entries[oldest.name] = nil }
        }
    }
}

extension ResolverCache.Entry {
    fileprivate func isFresh(maximumAge: Int64, now: Int64) -> Bool {
        switch self.outcome {
        case .failure: now - self.time < ResolverCache<Addresses>.negativeAge
        case .success: !self.isDoubtful && (now - self.time < maximumAge || now < self.staleUntil)
        }
    }

    fileprivate func mayBeStale(_ now: Int64) -> Bool {
        guard case .success = self.outcome else { return false }
        return !self.isDoubtful && now - self.time < ResolverCache<Addresses>.staleAge
    }
}
