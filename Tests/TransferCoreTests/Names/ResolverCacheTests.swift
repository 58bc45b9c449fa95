// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@Suite("The resolver's cache")
struct ResolverCacheTests {
    private typealias Cache = ResolverCache<Int>
    private static let second: Int64 = 1_000_000_000
    private static let maximumAge = 60 * second
    private static let unknown = NameFailure(.unknownName)
    private static let unavailable = NameFailure(.unavailable)

    private func look(_ cache: inout Cache, _ name: String, _ waiter: UInt64, at now: Int64) -> Cache.Outcome? {
        cache.request(name, by: waiter, maximumAge: Self.maximumAge, now: now * Self.second)
    }

    private func end(_ cache: inout Cache, _ name: String, _ outcome: Cache.Outcome, at now: Int64) -> [UInt64] {
        cache.finished(name, outcome, now: now * Self.second).waiters
    }

    @Test("requests for one name share one lookup")
    func shared() {
        var cache = Cache()
        #expect(self.look(&cache, "a", 1, at: 0) == nil)
        #expect(self.look(&cache, "a", 2, at: 0) == nil)
        #expect(cache.takeLookup() == "a")
        #expect(self.look(&cache, "a", 3, at: 1) == nil)
        #expect(cache.takeLookup() == nil)
        #expect(self.end(&cache, "a", .success(7), at: 2) == [1, 2, 3])
        #expect(self.look(&cache, "a", 4, at: 61) == .success(7))
        #expect(self.look(&cache, "a", 5, at: 62) == nil)
    }

    @Test("an unknown name is looked up again after 10 seconds, an unavailable one at once")
    func failures() {
        var cache = Cache()
        _ = self.look(&cache, "a", 1, at: 0)
        _ = cache.takeLookup()
        #expect(self.end(&cache, "a", .failure(Self.unknown), at: 0) == [1])
        #expect(self.look(&cache, "a", 2, at: 9) == .failure(Self.unknown))
        #expect(self.look(&cache, "a", 3, at: 10) == nil)
        _ = cache.takeLookup()
        #expect(self.end(&cache, "a", .failure(Self.unavailable), at: 10) == [3])
        #expect(self.look(&cache, "a", 4, at: 10) == nil)
    }

    @Test("expired addresses are used while no name server responds, unless no connection could be made to them")
    func stale() {
        var cache = Cache()
        for (name, value) in [("a", 1), ("b", 2)] {
            _ = self.look(&cache, name, 1, at: 0)
            _ = cache.takeLookup()
            _ = self.end(&cache, name, .success(value), at: 0)
        }
        cache.addressesFailed("b")
        #expect(self.look(&cache, "b", 2, at: 1) == nil)
        #expect(self.look(&cache, "a", 3, at: 100) == nil)
        for _ in 0..<2 { _ = cache.takeLookup() }
        let a = cache.finished("a", .failure(Self.unavailable), now: 105 * Self.second)
        #expect(a.waiters == [3] && a.1 == .success(1))
        let b = cache.finished("b", .failure(Self.unavailable), now: 105 * Self.second)
        #expect(b.waiters == [2] && b.1 == .failure(Self.unavailable))
        #expect(self.look(&cache, "a", 4, at: 134) == .success(1))
        #expect(self.look(&cache, "a", 5, at: 135) == nil)
        _ = cache.takeLookup()
        #expect(
            cache.finished("a", .failure(Self.unavailable), now: 3_700 * Self.second).1 == .failure(Self.unavailable)
        )
    }

    @Test("a lookup whose requests were all cancelled is not started")
    func cancelled() {
        var cache = Cache()
        _ = self.look(&cache, "a", 1, at: 0)
        _ = self.look(&cache, "b", 2, at: 0)
        cache.cancelled(1, of: "a")
        #expect(cache.takeLookup() == "b")
        #expect(cache.takeLookup() == nil)
        _ = self.look(&cache, "a", 3, at: 0)
        cache.cancelled(2, of: "b")
        #expect(cache.takeLookup() == "a")
        #expect(self.end(&cache, "b", .success(2), at: 0) == [])
        #expect(self.look(&cache, "b", 4, at: 1) == .success(2))
    }

    @Test("random requests, lookups and cancellations agree with a naive model", arguments: 0..<40)
    func walk(_ seed: Int) {
        var walk = ResolverCacheWalk(seed: seed)
        walk.run(steps: 2_000)
        #expect(walk.complaint == nil)
    }
}

/// A random walk of a ``ResolverCache`` beside lists of everything that happened.
private struct ResolverCacheWalk {
    static let limit = 5
    var cache = ResolverCache<Int>(limit: Self.limit)
    var random: SeededGenerator
    var now: Int64 = 0
    var waiting: [String: Set<UInt64>] = [:]
    var running: Set<String> = []
    /// The last lookup of each name that returned its own result.
    var known: [String: (outcome: Result<Int, NameFailure>, time: Int64)] = [:]
    var doubtful: Set<String> = []
    var nextWaiter: UInt64 = 0
    var complaint: String?

    init(seed: Int) { self.random = SeededGenerator(seed: UInt64(seed)) }

    mutating func run(steps: Int) {
        for step in 0..<steps where self.complaint == nil {
            self.now += Int64.random(in: 0...4, using: &self.random) * 500_000_000
            switch Int.random(in: 0..<10, using: &self.random) {
            case 0..<5: self.request()
            case 5, 6: self.take()
            case 7, 8: self.finish()
            default: self.disturb()
            }
            if self.cache.count > Self.limit { self.complaint = "\(self.cache.count) results are kept" }
            let expected = self.waiting.count { !$0.value.isEmpty || self.running.contains($0.key) }
            if self.cache.lookupCount != expected { self.complaint = "step \(step): \(self.cache.lookupCount) lookups" }
        }
        // Nothing is forgotten: every request that waits is completed.
        while self.complaint == nil, self.cache.hasQueue || !self.running.isEmpty {
            self.take()
            self.finish()
        }
        if self.waiting.contains(where: { !$0.value.isEmpty }) {
            self.complaint = self.complaint ?? "requests are left"
        }
    }

    private mutating func name() -> String { "n\(Int.random(in: 0..<9, using: &self.random))" }

    private mutating func request() {
        let name = self.name()
        self.nextWaiter += 1
        let outcome = self.cache.request(name, by: self.nextWaiter, maximumAge: 6_000_000_000, now: self.now)
        guard let outcome else {
            self.waiting[name, default: []].insert(self.nextWaiter)
            return
        }
        guard let known = self.known[name], known.outcome == outcome else {
            self.complaint = "\(name) gave \(outcome), which no lookup found"
            return
        }
        let age = self.now - known.time
        switch outcome {
        case .failure(let failure):
            if failure.kind != .unknownName || age >= 10_000_000_000 { self.complaint = "a failure of age \(age)" }
        case .success:
            // Addresses that were used although expired may be used again for a while.
            if self.doubtful.contains(name) || age >= 3_630_000_000_000 { self.complaint = "\(name) is of age \(age)" }
        }
    }

    private mutating func take() {
        let wanted = self.waiting.filter { !$0.value.isEmpty && !self.running.contains($0.key) }
        guard let name = self.cache.takeLookup() else {
            if !wanted.isEmpty { self.complaint = "\(wanted.keys) are not looked up" }
            return
        }
        if wanted[name] == nil { self.complaint = "\(name) is looked up without need" }
        self.running.insert(name)
    }

    private mutating func finish() {
        guard let name = self.running.sorted().randomElement(using: &self.random) else { return }
        let kinds: [NameFailure.Kind] = [.unknownName, .unavailable, .localResource]
        let isFound = Int.random(in: 0..<2, using: &self.random) == 0
        let kind = kinds.randomElement(using: &self.random) ?? .unavailable
        let outcome: Result<Int, NameFailure> =
            isFound ? .success(Int.random(in: 0..<1000, using: &self.random)) : .failure(NameFailure(kind))
        let (waiters, result) = self.cache.finished(name, outcome, now: self.now)
        self.running.remove(name)
        if Set(waiters) != self.waiting.removeValue(forKey: name) ?? [] { self.complaint = "other requests of \(name)" }
        if isFound || kind == .unknownName {
            if result != outcome { self.complaint = "\(name) gave \(result), not \(outcome)" }
            self.known[name] = (outcome, self.now)
            self.doubtful.remove(name)
        } else if result != outcome, self.known[name]?.outcome != result || self.doubtful.contains(name) {
            self.complaint = "\(name) gave \(result) in place of \(outcome)"
        }
    }

    private mutating func disturb() {
        let name = self.name()
        if let waiter = self.waiting[name]?.sorted().randomElement(using: &self.random) {
            self.waiting[name]?.remove(waiter)
            self.cache.cancelled(waiter, of: name)
            if self.waiting[name]?.isEmpty == true, !self.running.contains(name) { self.waiting[name] = nil }
        } else {
            self.cache.addressesFailed(name)
            if case .success? = self.known[name]?.outcome { self.doubtful.insert(name) }
        }
    }
}
