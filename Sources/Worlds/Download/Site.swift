// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferTesting

/// A site with one resource, drawn from a recipe: its versions, validators, ranges and faults.
///
/// The site is honest unless an ingredient says otherwise: then its validators are right, it implements ranges, and a
/// transfer succeeds however often it is cut.
final class Site: SimulatedServer {
    /// The kind of a site, with its weight among all worlds.
    enum Kind: String, CaseIterable {
        case honest, parallel, resumed, change, nodes, tags, region, zeros, mirrors, redirect, exists, again, repeats
        case liar

        var weight: Int {
            switch self {
            case .honest: 30
            case .parallel: 14
            case .resumed: 10
            case .change, .mirrors: 7
            case .nodes: 8
            case .region: 6
            case .tags, .redirect, .exists, .repeats: 5
            case .zeros, .liar: 4
            case .again: 3
            }
        }
    }

    static let page = SimulatedContent(Array("<html><body>Please log in</body></html>".utf8))

    let kind: Kind
    let size: Int
    let contents: [SimulatedContent]
    let difference: Difference
    let schedule: VersionSchedule
    let hosts: [String]
    let versionOfNode: [Int]
    let tag: TagMode
    let date: DateMode
    let sendsDate: Bool
    let digests: Int
    let ifRange: Int
    let acceptsRanges: Bool
    /// Whether conditional requests are answered with 304.
    let knowsConditions: Bool
    let quirks: [(quirk: Quirk, share: Double)]
    let connectionLimit: (count: Int, status: Int)?
    let headStatus: Int
    /// Whether the first host redirects to the others, instead of all being mirrors.
    let isRedirector: Bool
    let linkLifetime: Int64?
    /// Whether the user's own URL expires, and a program supplies others.
    let isLinked: Bool
    /// Whether no response names the length.
    let hidesLength: Bool
    /// Whether ranges are shortened to ``cap``.
    let shortensRanges: Bool
    /// The number of requests that the site answers with a delay at first.
    let busy: (count: Int, status: Int, seconds: Int)
    let rate: Int64
    let cap: Int64
    let mostCuts: Int
    let cutShare: Double
    let resets: Double
    let decisions: UInt64

    /// The number of finished runs of the command.
    var steps = 0
    // Records of the responses, for the judge.
    var gets = 0
    var cuts = 0
    /// The number of cut responses whose bytes were to be compared: ranges that were requested without a validator.
    var cutComparisons = 0
    var bytesSent: Int64 = 0
    var shown: [Shown] = []
    var statuses: Set<Int> = []
    var used: Set<Quirk> = []
    var rangesSent = 0
    /// The restarts reported to users, and whether one of them named the alternation.
    var restarts = (count: 0, areExplained: false)
    /// Whether Martlet has found that the bytes that it holds differ from those of another response.
    var isDifferenceKnown = false
    /// When it was found last.
    var differenceFoundAt: Int64 = 0
    var didSendDigest = false
    var didSendLyingDigest = false
    /// The responses with content, by the numbers of their requests; those below zero are files of others.
    var deliveries: [Int: Delivery] = [:]
    /// Whether a response named the time of the next request.
    var didAskForDelay = false
    /// The digests that were sent, by version.
    var digestTexts: [Int: String] = [:]
    /// The length of the shortest range that was requested.
    var shortestRange = Int64.max

    /// Called with the seconds of a `Retry-After` that was sent.
    var onRetryAfter: ((Int64, ServerRequest) -> Void)?

    private let scheduler: Scheduler
    private let trace: Trace
    let name: String

    var isHonest: Bool { self.kind == .honest }

    /// Whether responses alternate between versions whose entity tags are strong, and nothing else is wrong with them.
    var alternates: Bool {
        guard case .nodes = self.schedule, self.kind == .nodes, self.tag == .version else { return false }
        return self.quirks.isEmpty && self.ifRange == 0 && Set(self.versionOfNode).count > 1
    }

    /// Whether a path is that of the resource.
    func has(_ path: String) -> Bool { path == "/\(self.name)" }

    /// The URLs by which a user asks for the resource.
    var urls: [String] {
        if case .hosts = self.schedule, !self.isRedirector {
            return self.hosts.dropFirst().map { "http://\($0)/\(self.name)" }
        }
        return ["http://\(self.hosts[0])/\(self.name)\(self.isLinked ? "?0" : "")"]
    }

    /// A URL that is valid from now on.
    var freshURL: String { "http://\(self.hosts[0])/\(self.name)?\(self.now)" }

    init(
        _ recipe: inout Recipe,
        kind: Kind,
        number: Int,
        size: Int,
        host: String,
        scheduler: Scheduler,
        trace: Trace
    ) {
        self.kind = kind
        self.size = size
        self.scheduler = scheduler
        self.trace = trace
        self.name = number == 0 ? "file.bin" : "file\(number).bin"
        self.decisions = recipe.draw(0...UInt64.max)
        let versions = Self.versions(&recipe, kind)
        (self.contents, self.difference) = (
            makeContents(versions.count, size, versions.difference, using: &recipe.random), versions.difference
        )
        let nodes = Self.nodes(&recipe, kind, versions.count, size)
        self.schedule = nodes.schedule
        self.versionOfNode = nodes.versionOfNode
        if case .hosts = nodes.schedule {
            self.hosts = [host] + nodes.versionOfNode.indices.map { "site\(number)-node\($0)" }
        } else {
            self.hosts = [host]
        }
        let validators = Self.validators(&recipe, kind)
        (self.tag, self.date, self.sendsDate) = (validators.tag, validators.date, validators.sendsDate)
        self.digests = validators.digests
        let isHonest = kind == .honest
        self.acceptsRanges = recipe.draw(0...4) > 0
        self.knowsConditions = recipe.draw(0...3) > 0
        self.ifRange =
            !isHonest && recipe.has(oneIn: 2, "the site treats If-Range in its own way")
            ? recipe.pick([1, 1, 1, 1, 2]) : 0
        self.quirks = Self.quirks(&recipe, kind)
        // A site that an honest user meets sends more than what is compared of each range.
        self.cap = Int64(recipe.draw((isHonest ? 300 : 60)...500)) * 1024
        let limit = (
            recipe.pick([1, 1, 2, 3]), recipe.pick(isHonest ? [503, 503, 429] : [503, 503, 429, 403, 509, 0])
        )
        self.connectionLimit =
            recipe.has(oneIn: 4, "the site answers more than \(limit.0) connections with \(limit.1)") ? limit : nil
        let head = recipe.pick([405, 405, 403, 501])
        self.headStatus = !isHonest && recipe.has(oneIn: 4, "the site answers HEAD with \(head)") ? head : 200
        self.hidesLength = recipe.has(oneIn: 20, "the site hides the length")
        self.shortensRanges = recipe.has(oneIn: isHonest ? 5 : 15, "the site shortens ranges")
        let busy = (recipe.draw(1...12), recipe.pick([503, 429]), recipe.draw(1...20))
        self.busy =
            recipe.has(oneIn: 8, "the site answers \(busy.0) requests with \(busy.1), Retry-After: \(busy.2)")
            ? busy : (0, 503, 1)
        self.isRedirector = kind == .redirect || self.hosts.count > 1 && isHonest && recipe.draw(0...1) == 0
        // Of an honest site each link can be used at least once.
        let lifetime = Int64(recipe.draw((isHonest ? 10 : 1)...60)) * 100_000_000
        let hasExpiringTargets =
            self.isRedirector
            && recipe.has(oneIn: isHonest ? 2 : 3, "the redirector's links expire after \(lifetime / 1_000_000) ms")
        self.isLinked =
            self.hosts.count == 1
            && recipe.has(oneIn: 12, "links expire after \(lifetime / 1_000_000) ms, and a program has fresh ones")
        self.linkLifetime = hasExpiringTargets || self.isLinked ? lifetime : nil
        self.rate = max(16 << 10, Int64(size) * 1000 / recipe.pick([80, 150, 250, 400, 2000, 20_000]))
        let most =
            switch kind {
            case .resumed: recipe.pick([1, 2, 3, 4])
            // Enough for an address that alternates to use up the restarts.
            case .nodes: recipe.pick([1, 2, 4, 8])
            default: recipe.pick(isHonest ? [1, 2, 3] : [1, 2, 3, 4, 6])
            }
        self.mostCuts =
            recipe.has(oneIn: isHonest ? 2 : 1, "the site cuts \(most) responses") ? most : 0
        self.cutShare = recipe.pick([0.3, 0.6, 1, 1])
        self.resets = recipe.pick([0, 0, 0.5, 1])
    }

    // MARK: Drawing

    private static func versions(_ recipe: inout Recipe, _ kind: Kind) -> (count: Int, difference: Difference) {
        let any: [Difference] =
            Array(repeating: .everywhere, count: 10) + [.length, .appended, .tail, .head, .zeros]
        switch kind {
        case .honest, .tags: return (1, .none)
        case .parallel, .resumed:
            return (recipe.pick([2, 2, 3]), recipe.pick(Array(repeating: .everywhere, count: 6) + [.zeros, .tail]))
        case .change, .again, .exists: return (recipe.pick([2, 2, 3]), recipe.pick(any))
        case .nodes, .redirect: return (recipe.pick([1, 2, 2, 2, 3]), recipe.pick(any))
        case .mirrors:
            return (
                recipe.pick([1, 2, 2]), recipe.pick([.everywhere, .everywhere, .length, .tail, .tail, .head, .zeros])
            )
        case .region: return (2, .region)
        case .zeros: return (recipe.pick([2, 3]), recipe.pick([.zeros, .zeros, .tail, .head]))
        case .repeats: return (recipe.pick([2, 2, 3]), .everywhere)
        case .liar: return (2, recipe.pick([.everywhere, .region, .length]))
        }
    }

    private static func nodes(
        _ recipe: inout Recipe,
        _ kind: Kind,
        _ count: Int,
        _ size: Int
    ) -> (schedule: VersionSchedule, versionOfNode: [Int]) {
        let isBack = recipe.draw(0...6) == 0
        let changes = max(1, count - 1 + (isBack ? 1 : 0))
        let requests = VersionSchedule.requests((0..<changes).map { _ in recipe.draw(1...4) }.sorted())
        let bytes = VersionSchedule.bytes(
            (0..<changes).map { _ in Int64(Double(size) * Double(recipe.draw(2...95)) / 100) }.sorted()
        )
        let times = VersionSchedule.times((0..<changes).map { _ in recipe.draw(10...20_000) * 1_000_000 }.sorted())
        let number = kind == .mirrors || kind == .redirect ? recipe.pick([2, 2, 3]) : max(2, count)
        let pattern = recipe.pick([
            [0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 0, 1], [0, 1, 0], [0, 1, 1], Array(0..<number),
        ])
        let nodes = VersionSchedule.nodes(pattern: pattern, byConnection: recipe.draw(0...2) == 0)
        var versionOfNode = (0..<number).map { $0 % count }
        if kind == .mirrors || kind == .redirect, recipe.draw(0...2) == 0 {
            versionOfNode = (0..<number).map { _ in recipe.draw(0...count - 1) }
        }
        let schedule: VersionSchedule
        switch kind {
        case .honest:
            if recipe.draw(0...3) == 0 { return (.hosts, [0, 0]) }
            return (.one, [0])
        case .change: schedule = recipe.pick([requests, bytes, bytes, times])
        case .region, .zeros, .liar, .repeats, .exists:
            schedule = recipe.pick([requests, bytes, bytes, nodes, .random, times])
        case .parallel, .resumed: schedule = recipe.pick([nodes, nodes, .random, requests, requests, bytes])
        case .nodes, .tags: schedule = recipe.pick([nodes, nodes, .random])
        case .mirrors, .redirect: schedule = .hosts
        case .again: schedule = .steps
        }
        // Left out, the site keeps its first version.
        let isOne = count == 1 && kind != .tags
        if case .hosts = schedule { return (schedule, versionOfNode) }
        return isOne || recipe.has(oneIn: 1, schedule.text) ? (schedule, versionOfNode) : (.one, [0])
    }

    private static func validators(
        _ recipe: inout Recipe,
        _ kind: Kind
    ) -> (tag: TagMode, date: DateMode, sendsDate: Bool, digests: Int) {
        var (tag, date): (TagMode, DateMode)
        var digests = recipe.pick([0, 0, 0, 0, 0, 0, 0, 1, 2, 3])
        let proveNothing = recipe.draw(0...1) == 0
        switch kind {
        case .honest:
            (tag, date) = recipe.pick([(.version, .old), (.version, .none), (.none, .old), (.version, .young)])
        case .liar:
            (tag, date) = recipe.pick([
                (.same, .none), (.same, .same), (.none, .same), (.same, .old), (.weakSame, .same),
            ])
            digests = 0
        case .repeats:
            (tag, date) = recipe.pick([
                (.firstWhole, .none), (.none, .firstWhole), (.firstWhole, .firstWhole), (.firstLater, .none),
                (.firstLater, .none),
            ])
            digests = 0
        case .region:
            let choice: (TagMode, DateMode, Int) = recipe.pick([
                (.version, .none, 0), (.version, .old, 0), (.none, .old, 0), (.weak, .old, 0), (.version, .young, 0),
                (.none, .none, 1), (.weakSame, .youngSame, 1), (.flicker, .old, 0), (.none, .youngLate, 0),
                (.weakSame, .youngLate, 0),
            ])
            (tag, date, digests) = choice
        case .tags:
            (tag, date) = (
                recipe.pick([.node, .node, .each, .version, .weak, .weakSame, .flicker, .unquoted, .none]),
                recipe.pick([.old, .old, .nodeOld, .each, .none, .flicker])
            )
        default:
            var tags: [TagMode] = [
                .version, .weak, .weakSame, .weakSame, .unquoted, .unquotedSame, .none, .none, .flicker, .onlyWhole,
                .onlyParts, .node,
            ]
            var dates: [DateMode] = [
                .old, .young, .youngSame, .youngSame, .youngLate, .futureSame, .none, .none, .nodeOld, .each, .flicker,
                .onlyWhole, .onlyParts,
            ]
            if kind == .mirrors { tags += [.same, .same, .same] }
            if kind == .nodes { tags += [.version, .version, .version, .version] }
            if kind == .parallel || kind == .resumed || proveNothing {
                tags = [.weakSame, .weakSame, .unquoted, .unquotedSame, .none, .none, .flicker, .onlyWhole]
                dates = [.youngSame, .youngSame, .youngLate, .futureSame, .none, .none, .flicker, .onlyWhole]
            }
            (tag, date) = (recipe.pick(tags), recipe.pick(dates))
            // All three equal would be a liar.
            if tag == .same, date == .youngSame || date == .futureSame { date = .nodeOld }
            if kind == .parallel || kind == .resumed { digests = 0 }
        }
        let sendsDate = recipe.draw(0...6) > 0 || kind == .honest
        return (tag, date, sendsDate, digests)
    }

    private static func quirks(_ recipe: inout Recipe, _ kind: Kind) -> [(quirk: Quirk, share: Double)] {
        var result: [(quirk: Quirk, share: Double)] = []
        let ofRanges: [Quirk] = [.shortensRange, .hidesTotal, .notSatisfiable, .ignoresRange]
        let gentle: [Quirk] = [
            .interim, .drips, .hesitates, .stalls, .breaksFirst, .cutsFirst, .cutsLast, .serverError,
            .serverErrorWithDelay, .tooMany, .trailingDigest, .silent, .chunked,
        ]
        for place in 0..<3 {
            let quirk = recipe.pick(Quirk.allCases)
            let other = recipe.pick(gentle)
            let range = recipe.pick(ofRanges)
            let share = recipe.pick([0.1, 0.25, 0.5, 1])
            switch kind {
            case .honest:
                // A share of less than one: otherwise nothing would ever get through.
                if place == 0, recipe.has(oneIn: 6, "the site \(other.rawValue) at times") {
                    result.append((other, min(share, 0.25)))
                }
            case .parallel, .resumed:
                if place == 0, recipe.has(oneIn: 5, "the site \(range.rawValue) at times") {
                    result.append((range, 0.2))
                }
            default:
                if recipe.has(oneIn: [2, 4, 6][place], "the site \(quirk.rawValue) at \(share)") {
                    result.append((quirk, share))
                }
            }
        }
        return result
    }

    /// The site's fixed properties, in one line.
    var text: String {
        var parts = ["\(self.kind.rawValue), \(self.size) bytes"]
        if self.contents.count > 1 {
            parts.append("\(self.contents.count) versions that differ in: \(self.difference.rawValue)")
            parts.append(self.schedule.text)
        }
        parts.append("ETag \(self.tag.rawValue), Last-Modified \(self.date.rawValue)")
        if self.digests > 0 {
            parts.append("Repr-Digest \(["", "always", "in whole responses", "at times"][self.digests])")
        }
        return parts.joined(separator: "; ")
    }

    // MARK: Bookkeeping

    func delivered(_ count: Int, to request: ServerRequest) {
        self.bytesSent += Int64(count)
        self.deliveries[request.number]?.count += Int64(count)
    }

    var now: Int64 { self.scheduler.now }
    var wallNow: Int64 { self.scheduler.trueNow }

    func tell(_ request: ServerRequest, _ text: @autoclosure () -> String) {
        self.trace.add(
            "server",
            "#\(request.number) \(request.method) \(request.url.host)\(request.url.requestTarget)"
                + (request.fields["Range"].map { " \($0)" } ?? "")
                + (request.fields["If-Range"].map { " If-Range \($0)" } ?? "") + ": \(text())"
        )
    }
}
