// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// A server that changes versions, validators and responses between requests, by a seed.
///
/// Ranges never carry the strong validators of other bytes. Whole responses do in one world of four: they repeat the
/// first version's, and its ranges have none, so that only comparisons show that the bytes changed.
///
/// `Scripts/random-worlds` does the same with sockets, kills and the command.
private final class RandomWorld: Sendable {
    private struct Version {
        var pattern: TestPattern
        var length: Int64
        /// Distinct for each version, and old.
        var modified: String
    }

    private struct State {
        var generator: SeededGenerator
        var requests = 0
        var version = 0
    }

    private let versions: [Version]
    private let switchesEvery: Int
    private let alternates: Bool
    private let tagKinds: [Int]
    private let dateKinds: [Int]
    private let ignoresIfRange: Bool
    private let ranges: Int
    private let cuts: Int
    private let repeatsValidators: Bool
    private let state: Mutex<State>

    static let date = "Sat, 21 Nov 2026 12:00:00 GMT"

    init(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let length = Int64.random(in: 200_000...500_000, using: &generator)
        let count = Int.random(in: 1...3, using: &generator)
        let sameLength = Bool.random(using: &generator)
        self.versions = (0..<count)
            .map { index in
                Version(
                    pattern: TestPattern(seed: seed &* 7 &+ UInt64(index)),
                    length: sameLength ? length : length + Int64(index) * 1000,
                    modified: "Tue, 0\(index + 1) Jul 2025 10:00:00 GMT"
                )
            }
        self.switchesEvery = Int.random(in: 1...4, using: &generator)
        self.alternates = Bool.random(using: &generator)
        // One kind of validator, or two that come and go.
        self.tagKinds = (0...Int.random(in: 0...1, using: &generator))
            .map { _ in Int.random(in: 0...5, using: &generator) }
        self.dateKinds = (0...Int.random(in: 0...1, using: &generator))
            .map { _ in Int.random(in: 0...3, using: &generator) }
        self.ignoresIfRange = Bool.random(using: &generator)
        self.ranges = Int.random(in: 0...7, using: &generator)
        self.cuts = Int.random(in: 0...6, using: &generator)
        self.repeatsValidators = Int.random(in: 0...3, using: &generator) == 0
        self.state = Mutex(State(generator: generator))
    }

    /// Whether the bytes are exactly one of the versions.
    func isVersion(_ bytes: [UInt8]) -> Bool {
        self.versions.contains { version in
            Int64(bytes.count) == version.length
                && bytes.withUnsafeBytes { version.pattern.firstDifference(in: $0) } == nil
        }
    }

    /// The validators of the first version, which every whole response repeats.
    private func repeatValidators(_ fields: inout HeaderFields, _ kind: Int) {
        fields.remove("ETag")
        fields.remove("Last-Modified")
        fields.remove("Date")
        if kind != 0 { fields.append("ETag", "\"first\"") }
        if kind != 1 {
            fields.append("Last-Modified", self.versions[0].modified)
            fields.append("Date", Self.date)
        }
    }

    func respond(to exchange: ScriptedExchange) {
        let (version, node, tagKind, dateKind, cut, isOdd): (Version, Int, Int, Int, Int64, Bool) = self.state.withLock
        {
            $0.requests += 1
            if $0.requests % self.switchesEvery == 0 {
                $0.version =
                    self.alternates
                    ? ($0.version + 1) % self.versions.count : min($0.version + 1, self.versions.count - 1)
            }
            let version = self.versions[$0.version]
            return (
                version, $0.requests % 2, self.tagKinds.randomElement(using: &$0.generator) ?? 0,
                self.dateKinds.randomElement(using: &$0.generator) ?? 0,
                $0.requests <= self.cuts ? Int64.random(in: 1...version.length, using: &$0.generator) : .max,
                Int.random(in: 0...2, using: &$0.generator) == 0
            )
        }
        var fields: HeaderFields = ["Accept-Ranges": "bytes"]
        let identity = version.modified.dropFirst(5).prefix(2)
        switch tagKind {
        case 0: fields.append("ETag", "\"\(identity)\"")
        case 1: fields.append("ETag", "W/\"\(identity)\"")
        case 2: fields.append("ETag", "W/\"all\"")
        case 3: fields.append("ETag", "\"\(identity)-\(node)\"")
        case 4: fields.append("ETag", "\(identity)")
        default: break
        }
        switch dateKind {
        case 0:
            fields.append("Last-Modified", version.modified)
            fields.append("Date", Self.date)
        case 1:
            // Within the same second: it says nothing.
            fields.append("Last-Modified", Self.date)
            fields.append("Date", Self.date)
        case 2: fields.append("Last-Modified", "Sat, 21 Nov 2099 12:00:00 GMT")
        default: break
        }
        if self.repeatsValidators { self.repeatValidators(&fields, tagKind % 3) }
        let isCurrent = exchange["If-Range"]
            .map { $0 == fields["ETag"] || (fields["ETag"] == nil && $0 == fields["Last-Modified"]) }
        if let asked = Served(length: version.length).asked(exchange), self.ignoresIfRange || isCurrent ?? true,
            !(self.ranges == 0 && isOdd)
        {
            guard asked.lowerBound < version.length else {
                if isOdd { fields.append("Content-Range", "bytes */\(version.length)") }
                fields.append("Content-Length", "0")
                return exchange.respond(416, fields, framing: .length(0))
            }
            if self.repeatsValidators {
                fields.remove("ETag")
                fields.remove("Last-Modified")
            }
            var start = asked.lowerBound
            var end = min(asked.upperBound, version.length)
            if self.ranges == 1 { end = min(end, start + 90_000) }
            if self.ranges == 2, isOdd { start = max(0, start - 17) }
            let total = self.ranges == 3 ? "*" : "\(version.length)"
            if self.ranges != 4 || !isOdd { fields.append("Content-Range", "bytes \(start)-\(end - 1)/\(total)") }
            fields.append("Content-Length", "\(end - start)")
            exchange.respond(206, fields, framing: .length(end - start))
            return self.send(exchange, version, start..<end, cut)
        }
        fields.append("Content-Length", "\(version.length)")
        exchange.respond(200, fields, framing: .length(version.length))
        self.send(exchange, version, 0..<version.length, cut)
    }

    private func send(_ exchange: ScriptedExchange, _ version: Version, _ range: Range<Int64>, _ cut: Int64) {
        let end = range.lowerBound + min(cut, range.upperBound - range.lowerBound)
        exchange.body(version.pattern, range.lowerBound..<end)
        if exchange.hasEnded { return }
        if end < range.upperBound {
            exchange.fail(TransportError(.reset, "the connection was reset"))
        } else {
            exchange.end()
        }
    }
}

@Suite("Every byte of a file is from one version")
struct RandomWorldTests {
    @Test("random worlds: no finished file is mixed", arguments: 0..<20 as Range<UInt64>)
    func worlds(_ block: UInt64) throws {
        var finished = 0
        for seed in block * 25..<(block + 1) * 25 {
            var generator = SeededGenerator(seed: seed &+ 1_000_000)
            let world = RandomWorld(seed: seed)
            let store = MemoryStore()
            let connections = Int.random(in: 1...4, using: &generator)
            let retries = Int.random(in: 0...3, using: &generator)
            // Each stage is a process: what one leaves, the next finds.
            for _ in 0..<6 {
                let stage = Stage(lanes: 2, store: store)
                stage.transport.onStart { world.respond(to: $0) }
                let id = try stage.add("http://a/f") { options in
                    options.connections = .fixed(connections)
                    options.minimumSplit = 16_384
                    options.retries = retries
                }
                stage.run(until: id, timers: 2000)
                guard let completion = stage.completion(id) else {
                    #expect(stage.end(id) == "failed", "seed \(seed) does not end")
                    continue
                }
                let bytes = try #require(store.files[completion.path]?.bytes)
                #expect(completion.consistency != nil && !completion.verified, "seed \(seed)")
                // Versions share no bytes, so that comparing an overlap is more than a heuristic here.
                let isVersion = world.isVersion(bytes)
                #expect(isVersion, "seed \(seed): \(String(describing: completion.consistency))")
                finished += 1
                break
            }
        }
        #expect(finished > 12, "most worlds let a file finish")
    }
}
