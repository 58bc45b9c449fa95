// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// A seeded generator of random numbers (SplitMix64).
struct WalkRandom: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { self.state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var z = self.state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}

/// A server of a random walk: several versions of one file.
///
/// Its validators do not lie, unless it repeats the first version's in each 200; then its 206 have none.
struct WalkServer {
    /// The validators and digests of a response.
    enum Kind: CaseIterable {
        case tag
        case tagAndTime
        case weakTagAndTime
        case time
        case weakTag
        /// Each node makes its own tags.
        case nodeTags
        case nothing
    }

    enum Event {
        case head(ResponseHead)
        case body(version: Int, ByteRange)
        case end
        case fail
    }

    private static let noise: [UInt8] = {
        var random = WalkRandom(7)
        return (0..<1 << 20).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }()

    let versions: [[UInt8]]
    let isReliable: Bool
    let kind: Kind
    let honoursRanges: Bool
    /// Whether If-Range is answered as if the file had changed.
    let breaksIfRange: Bool
    let stripsValidators: Bool
    /// Whether each 200 carries the validators of the first version, and a 206 none: only comparisons help.
    let repeatsValidators: Bool
    let declaresDigest: Bool
    let framing: Int
    let hasTotals: Bool
    /// Whether older versions come back.
    let alternates: Bool
    let changes: Bool
    /// Whether the mirror has another file.
    let hasOtherMirror: Bool
    var current = 0
    /// Whether it cooperates from now on.
    var isCalm = false

    init(_ random: inout WalkRandom, isReliable: Bool) {
        self.isReliable = isReliable
        self.kind = isReliable ? .tagAndTime : Kind.allCases.randomElement(using: &random) ?? .tag
        self.honoursRanges = isReliable || random.chance(85)
        self.breaksIfRange = !isReliable && random.chance(15)
        self.stripsValidators = !isReliable && random.chance(20)
        self.repeatsValidators = !isReliable && random.chance(15)
        self.declaresDigest = !isReliable && !self.repeatsValidators && random.chance(15)
        self.framing = isReliable || random.chance(80) ? 0 : random.chance(50) ? 1 : 2
        self.hasTotals = isReliable || random.chance(90)
        self.alternates = !isReliable && random.chance(25)
        self.changes = !isReliable && random.chance(50)
        self.hasOtherMirror = !isReliable && random.chance(40)
        let length =
            random.chance(20)
            ? Int.random(in: 1...262_144, using: &random) : Int.random(in: 262_145...520_000, using: &random)
        let shared = random.chance(30) ? length / 2 : 0
        let isSameLength = random.chance(60)
        self.versions = (0..<3)
            .map { version in
                let end = isSameLength ? length : length + version * 1_111
                return Array(Self.noise[..<shared]) + Self.noise[(shared + version * 4_099)..<(end + version * 4_099)]
            }
    }

    static func digest(_ version: Int?) -> [UInt8] {
        [UInt8](repeating: version.map { UInt8($0 + 1) } ?? 0xFF, count: 32)
    }

    /// The version whose bytes these are.
    func version(of bytes: [UInt8]) -> Int? { self.versions.firstIndex { $0 == bytes } }

    /// The events of the response to a request.
    mutating func respond(to plan: FetchPlan, _ random: inout WalkRandom) -> [Event] {
        if !self.isCalm {
            if self.changes, random.chance(4) { self.current = min(self.current + 1, self.versions.count - 1) }
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<4: return [.fail]
            case 4..<7:
                return [.head(ResponseHead(status: 503, framing: .length(5))), .body(version: 0, 0..<1), .end]
            case 7..<9: return []
            case 9..<12 where plan.flow.url.path == "/f":
                let target = random.chance(50) ? "/moved" : "http://c/moved"
                return [.head(ResponseHead(status: 302, fields: ["Location": target], framing: .none)), .end]
            case 12..<13: return [.head(ResponseHead(status: 404, framing: .none)), .end]
            case 13..<14 where plan.range != nil && !self.isReliable:
                return [.head(ResponseHead(status: 412, framing: .none)), .end]
            default: break
            }
        }
        if plan.flow.url.host == "b", self.hasOtherMirror { return self.represent(1, plan, &random) }
        let isOld = self.alternates && !self.isCalm && self.current > 0 && random.chance(20)
        return self.represent(isOld ? self.current - 1 : self.current, plan, &random)
    }

    private func represent(_ version: Int, _ plan: FetchPlan, _ random: inout WalkRandom) -> [Event] {
        let length = Int64(self.versions[version].count)
        let node = self.isCalm ? 0 : Int.random(in: 0..<2, using: &random)
        var (tag, modified) = self.validators(self.repeatsValidators ? 0 : version, node)
        if self.stripsValidators, !self.isCalm, random.chance(30) { (tag, modified) = (nil, nil) }
        var fields: HeaderFields = ["Date": MachineHarness.date]
        if let tag { fields.append("ETag", tag) }
        if let modified { fields.append("Last-Modified", modified) }
        if self.honoursRanges { fields.append("Accept-Ranges", "bytes") }
        if self.declaresDigest {
            fields.append("Repr-Digest", "sha-256=:\(Base64.encode(Self.digest(version))):")
        }
        if plan.method == "HEAD" {
            fields.append("Content-Length", "\(length)")
            return [.head(ResponseHead(status: 200, fields: fields, framing: .none)), .end]
        }
        if Self.isUnmodified(plan, tag, modified) {
            if random.chance(30) { fields.remove("Last-Modified") }
            if random.chance(20) { fields.remove("ETag") }
            fields.remove("Repr-Digest")
            return [.head(ResponseHead(status: 304, fields: fields, framing: .none)), .end]
        }
        guard self.honoursRanges, let range = plan.range.flatMap(Self.range), self.matches(plan, tag, modified) else {
            let framing: BodyFraming = self.framing == 0 ? .length(length) : self.framing == 1 ? .chunked : .untilClose
            let head = ResponseHead(status: 200, fields: fields, framing: framing)
            return [.head(head)] + self.body(version, 0..<length, &random)
        }
        if range.lowerBound >= length {
            return [.head(ResponseHead(status: 416, fields: fields, framing: .none)), .end]
        }
        var end = min(range.upperBound, length)
        if self.repeatsValidators {
            fields.remove("ETag")
            fields.remove("Last-Modified")
        }
        // Some servers send less than was requested.
        if !self.isCalm, random.chance(8) { end = Int64.random(in: range.lowerBound + 1...end, using: &random) }
        let total = self.hasTotals ? "\(length)" : "*"
        fields.append("Content-Range", "bytes \(range.lowerBound)-\(end - 1)/\(total)")
        let head = ResponseHead(status: 206, fields: fields, framing: .length(end - range.lowerBound))
        return [.head(head)] + self.body(version, range.lowerBound..<end, &random)
    }

    /// What is recorded with a file of a version.
    func record(of version: Int) -> RecordedVersion? {
        let (tag, modified) = self.validators(version, 0)
        if tag == nil, modified == nil { return nil }
        return RecordedVersion(entityTag: tag, lastModified: modified, date: MachineHarness.date)
    }

    /// Whether a condition says that the version is the one that the client has.
    private static func isUnmodified(_ plan: FetchPlan, _ tag: String?, _ modified: String?) -> Bool {
        guard let (name, value) = plan.condition.first else { return false }
        if name == "If-None-Match" { return tag.map { self.opaque($0) == self.opaque(value) } ?? false }
        guard let time = modified.flatMap(HTTPDate.parse), let mine = HTTPDate.parse(value) else { return false }
        return time <= mine
    }

    private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

    private func validators(_ version: Int, _ node: Int) -> (tag: String?, modified: String?) {
        let time = HTTPDate.format(1_700_000_000 + Int64(version) * 3600)
        return switch self.kind {
        case .tag: ("\"v\(version)\"", nil)
        case .tagAndTime: ("\"v\(version)\"", time)
        case .weakTagAndTime: ("W/\"v\(version)\"", time)
        case .time: (nil, time)
        case .weakTag: ("W/\"v\(version)\"", nil)
        case .nodeTags: ("\"v\(version)n\(node)\"", time)
        case .nothing: (nil, nil)
        }
    }

    private func matches(_ plan: FetchPlan, _ tag: String?, _ modified: String?) -> Bool {
        guard let validator = plan.ifRange else { return true }
        if self.breaksIfRange { return false }
        return validator == tag || validator == modified
    }

    private func body(_ version: Int, _ range: ByteRange, _ random: inout WalkRandom) -> [Event] {
        var events: [Event] = []
        var position = range.lowerBound
        while position < range.upperBound {
            if !self.isCalm, random.chance(6) { return events + (random.chance(30) ? [] : [.fail]) }
            let next = min(position + Int64.random(in: 1...60_000, using: &random), range.upperBound)
            events.append(.body(version: version, position..<next))
            position = next
        }
        return events + [.end]
    }

    static func range(_ field: String) -> ByteRange? {
        let parts = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = Int64(parts[0]) else { return nil }
        return first..<(Int64(parts[1]).map { $0 + 1 } ?? Int64.max)
    }
}
