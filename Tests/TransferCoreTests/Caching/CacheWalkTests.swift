// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

/// A server with one resource, a cache of one entry, and clients with random directives; compared with a naive model.
@Suite struct CacheWalkTests {
    /// What the server says about a version of the resource, as numbers; its fields are made from these.
    struct Version {
        var number: Int
        var maxAge: Int64?
        var noCache: Bool
        var noStore: Bool
        var mustRevalidate: Bool
        var staleIfError: Int64?
        var hasTag: Bool
        var varies: Bool

        var fields: HeaderFields {
            var directives: [String] = []
            if let maxAge { directives.append("max-age=\(maxAge)") }
            if self.noCache { directives.append("no-cache") }
            if self.noStore { directives.append("no-store") }
            if self.mustRevalidate { directives.append("must-revalidate") }
            if let staleIfError { directives.append("stale-if-error=\(staleIfError)") }
            var fields: HeaderFields = ["X-Version": String(self.number)]
            if !directives.isEmpty { fields.append("Cache-Control", directives.joined(separator: " , ")) }
            if self.hasTag { fields.append("ETag", "\"\(self.number)\"") }
            if self.varies { fields.append("Vary", "X-Kind") }
            return fields
        }
    }

    /// A client's request, as numbers.
    struct Wish {
        var policy: CachePolicy
        var maxAge: Int64?
        var maxStale: Int64?
        var noCache: Bool
        var kind: Int

        var fields: HeaderFields {
            var directives: [String] = []
            if let maxAge { directives.append("max-age=\(maxAge)") }
            if let maxStale { directives.append("max-stale=\(maxStale)") }
            if self.noCache { directives.append("no-cache") }
            var fields: HeaderFields = ["X-Kind": String(self.kind)]
            if !directives.isEmpty { fields.append("Cache-Control", directives.joined(separator: ",")) }
            return fields
        }
    }

    /// The model's entry: the version, who requested it, and when the server last confirmed it.
    struct Entry {
        var version: Version
        var kind: Int
        var time: Int64
    }

    enum Outcome: Equatable {
        case version(Int, ResponseSource)
        case failed
    }

    /// The expected outcome, said in another way than the machine says it.
    private func expected(_ wish: Wish, _ entry: Entry?, _ current: Version, _ now: Int64, isDown: Bool) -> Outcome {
        let network = isDown ? Outcome.failed : .version(current.number, .network)
        if wish.policy == .reloadIgnoringCache { return network }
        guard let entry, !entry.version.varies || entry.kind == wish.kind else {
            return wish.policy == .returnCacheOnly ? .failed : network
        }
        let number = entry.version.number
        if wish.policy != .useProtocolCachePolicy { return .version(number, .cache) }
        let age = now - entry.time
        let staleness = age - (entry.version.maxAge ?? 0)
        let isKnown = age >= 0 && !entry.version.noCache && !wish.noCache
        let isYoung = wish.maxAge.map { age <= $0 } ?? true
        let mayBeStale = !entry.version.mustRevalidate && (wish.maxStale.map { staleness <= $0 } ?? false)
        if isKnown && isYoung && (staleness < 0 || mayBeStale) { return .version(number, .cache) }
        if isDown {
            let mayReplace = isKnown && !entry.version.mustRevalidate
            let isInTime = entry.version.staleIfError.map { staleness <= $0 } ?? false
            return mayReplace && isInTime ? .version(number, .cache) : .failed
        }
        return current.number == number && current.hasTag ? .version(number, .validated) : network
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func theMachineAgreesWithTheModel(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        func maybe(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
        func seconds() -> Int64 { Int64.random(in: 0...20, using: &random) }
        func version(_ number: Int) -> Version {
            Version(
                number: number,
                maxAge: maybe(70) ? seconds() : nil,
                noCache: maybe(10),
                noStore: maybe(10),
                mustRevalidate: maybe(20),
                staleIfError: maybe(30) ? seconds() : nil,
                hasTag: maybe(70),
                varies: maybe(30)
            )
        }
        var now: Int64 = 1_800_000_000
        var current = version(0)
        var stored: (response: StoredResponse, selection: [UInt8])?
        var entry: Entry?
        for step in 1...200 {
            now += maybe(5) ? -seconds() : seconds() / 3
            if maybe(15) { current = version(step) }
            let isDown = maybe(15)
            let wish = Wish(
                policy: maybe(70)
                    ? .useProtocolCachePolicy : CachePolicy.allCases.randomElement(using: &random) ?? .returnCacheOnly,
                maxAge: maybe(20) ? seconds() : nil,
                maxStale: maybe(20) ? seconds() : nil,
                noCache: maybe(10),
                kind: maybe(80) ? 0 : 1
            )
            let wanted = self.expected(wish, entry, current, now, isDown: isDown)

            // The driver.
            var machine = CacheMachine(method: "GET", fields: wish.fields, hasContent: false, policy: wish.policy)
            var outcome = Outcome.failed
            var action = machine.begin(now)
            if case .lookUp = action {
                let match = stored.flatMap { stored in
                    VaryRule.selection(of: wish.fields, by: stored.response.fields) == stored.selection
                        ? (stored.response, Int64(1)) : nil
                }
                action = machine.found(match, now)
            }
            func serve(_ head: ResponseHead) {
                outcome = .version(Int(head.fields["X-Version"] ?? "") ?? -1, head.source)
            }
            func store(_ response: StoredResponse) {
                guard let selection = VaryRule.selection(of: wish.fields, by: response.fields) else { return }
                stored = (response, selection)
            }
            switch action {
            case .lookUp: Issue.record("a second search")
            case .fail: break
            case .serve(let head): serve(head)
            case .forward(let conditions):
                if isDown {
                    if let head = machine.failed(.refused, now) { serve(head) }
                    break
                }
                let isCurrent = current.hasTag && conditions["If-None-Match"] == "\"\(current.number)\""
                let head = ResponseHead(
                    status: isCurrent ? 304 : 200,
                    fields: current.fields,
                    framing: isCurrent ? .none : .length(1)
                )
                switch machine.headReceived(head, now) {
                case .deliver(let response):
                    serve(head)
                    if let response { store(response) }
                case .deliverRemoving:
                    serve(head)
                    stored = nil
                case .serve(let head, let response):
                    serve(head)
                    if let response { store(response) } else { stored = nil }
                case .refetch, .serveStale: Issue.record("unexpected")
                }
            }
            #expect(outcome == wanted, "seed \(seed), step \(step), \(wish), \(String(describing: entry)), \(now)")
            if case .version(_, let source) = outcome, source != .cache {
                entry = current.noStore ? nil : Entry(version: current, kind: wish.kind, time: now)
            }
            #expect((entry == nil) == (stored == nil), "seed \(seed), step \(step)")
            if outcome != wanted { return }
        }
    }
}
