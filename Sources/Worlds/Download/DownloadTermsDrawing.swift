// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine
import TransferTesting

/// The user's request and options in a download world.
struct DownloadWishes {
    /// One file that the user wants.
    struct Job {
        var site: Site
        /// The name given by the user, or `nil`.
        var name: String?
        /// The version whose digest is given, or `nil`.
        var checksum: Int?
        /// The name under which the file is expected, unless that is taken.
        var expectedName: String
        /// Whether the name must not get a number.
        var isExact = false
    }

    var jobs: [Job] = []
    var options = DownloadOptions()
    var configuration = TransferEngine.Configuration()
    var lanes = 1
    /// Whether the user starts the command again after a failure.
    var triesAgain = true
    /// How often the user adds a transfer again, in the same process, that has failed.
    var additions = 0
    /// Whether the program that has fresh links refuses most of them.
    var refusesLinks = false
    /// What the program decides about retries; `nil` if the options alone do.
    var retrier: SiteRetrier.Terms?
    /// Whether an ingredient other than the site's own may make a transfer fail.
    var mayFail = false

    init(_ recipe: inout Recipe, sites: [Site]) {
        let isHonest = sites.allSatisfy(\.isHonest)
        for site in sites {
            var job = Job(site: site, expectedName: site.name)
            let version = recipe.draw(0...site.contents.count - 1)
            if recipe.has(oneIn: 11, "the user gives the digest of version \(version)") { job.checksum = version }
            if recipe.draw(0...2) == 0 {
                job.name = "given-\(job.expectedName)"
                job.expectedName = "given-\(job.expectedName)"
            }
            let isGiven = recipe.draw(0...1) == 0
            if self.jobs.isEmpty, recipe.has(oneIn: 6, "the user's name for the first file is exact") {
                job.isExact = true
                // Half of them are the names that other programs take.
                if isGiven || job.name == nil { job.name = site.name }
                job.expectedName = job.name ?? job.expectedName
            }
            self.jobs.append(job)
        }
        self.lanes = recipe.draw(1...2)
        let kind = sites[0].kind
        let connections =
            kind == .resumed ? 1 : recipe.pick(kind == .parallel ? [2, 3, 4, 6, 8] : [1, 1, 2, 2, 3, 4, 4, 6, 8])
        let isAdaptive = kind != .parallel && recipe.draw(0...3) == 0
        self.options.connections = isAdaptive ? .adaptive(most: connections) : .fixed(connections)
        self.options.minimumSplit = recipe.pick([16, 32, 64, 64, 128, 256, 1024]) << 10
        self.options.retries = isHonest ? 5 : recipe.pick([0, 1, 2, 3, 4])
        self.options.retryWait = recipe.pick([.zero, .zero, .milliseconds(100), .seconds(2)])
        self.options.stallTimeout = .seconds(recipe.pick([8, 30, 60]))
        self.options.connectTimeout = .seconds(recipe.pick([5, 30]))
        let outage = recipe.pick([60, 600, 3600])
        if isHonest || recipe.draw(0...1) == 0 { self.options.outageTimeout = .seconds(outage) }
        let total = recipe.draw(1...120)
        if recipe.has(oneIn: 20, "the user allows \(total) s for each transfer") {
            self.options.totalTimeout = .seconds(total)
            self.mayFail = true
        }
        if recipe.has(oneIn: 8, "every file is synced") { self.options.durable = true }
        if recipe.has(oneIn: 8, "digests are reported") { self.options.reportDigest = .sha256 }
        let rate = Int64(recipe.draw(20...400)) << 10
        if recipe.has(oneIn: 10, "the user limits the rate to \(rate) bytes a second") {
            self.configuration.rateLimit = rate
        }
        let interval = Int64(recipe.draw(5...20)) * 100_000_000
        if recipe.has(oneIn: 15, "requests to a host are \(interval / 1_000_000) ms apart") {
            self.configuration.politeness.hostInterval = interval
        }
        let (floor, window) = (Int64(recipe.draw(1...200)) << 10, Int64(recipe.draw(1...20)))
        if recipe.has(oneIn: 25, "a transfer of less than \(floor) bytes a second over \(window) s fails") {
            self.options.speedFloor = SpeedFloor(rate: floor, window: window * 1_000_000_000)
            self.mayFail = true
        }
        if sites.contains(where: \.isLinked) {
            self.refusesLinks = recipe.draw(0...4) == 0
            self.options.refresher = SiteLinks(sites, refusing: self.refusesLinks)
            // There may be more than the three fresh links that one transfer asks for.
            self.mayFail = true
        }
        let terms = SiteRetrier.Terms(
            most: recipe.draw(0...4),
            delay: recipe.pick([0, 50, 1500, 20_000]) * 1_000_000
        )
        let ofRetrier = "a program decides about retries: \(terms.most), each after \(terms.delay / 1_000_000) ms"
        if recipe.has(oneIn: 15, ofRetrier) {
            self.retrier = terms
            self.mayFail = true
        }
        self.configuration.concurrentTransfers = recipe.draw(1...5)
        if recipe.draw(0...3) == 0 { self.configuration.connectionsPerHost = recipe.draw(1...4) }
        if recipe.draw(0...3) == 0 { self.configuration.keepsHostsOnLanes = true }
        if recipe.draw(0...3) == 0 { self.configuration.waitsForFileSystems = true }
        if recipe.draw(0...3) == 0 { self.configuration.releasesNames = true }
        if recipe.has(oneIn: 12, "failed transfers are added again in the same process") {
            self.additions = 2
            self.configuration.releasesNames = true
        }
        let rule = recipe.pick([IfExistsRule.skip, .update, .update, .resume, .resume, .rename, .overwrite, .fail])
        if recipe.has(oneIn: kind == .exists || kind == .again ? 2 : 10, "--if-exists \(rule.rawValue)") {
            self.options.ifExists = rule
            if rule == .fail { self.mayFail = true }
        }
        let running = recipe.pick([IfRunningRule.wait, .fail, .rename])
        if recipe.has(oneIn: 10, "--if-running \(running.rawValue)") { self.options.ifRunning = running }
        self.triesAgain = isHonest || recipe.draw(0...9) < 6
    }

    /// The most connections for a file.
    var mostConnections: Int {
        switch self.options.connections {
        case .fixed(let count), .adaptive(let count): count
        }
    }

    func request(_ job: Job, in directory: String) throws -> DownloadRequest {
        var expected: [ExpectedDigest] = []
        if let version = job.checksum {
            let bytes = job.site.contents[version].sha256
            expected = [ExpectedDigest(algorithm: .sha256, bytes: bytes, source: "--checksum")]
        }
        var request = DownloadRequest(
            try job.site.urls.map { try HTTPURL($0) },
            name: job.name,
            directory: directory,
            expected: expected,
            options: self.options
        )
        request.nameIsExact = job.isExact && self.options.ifExists != .rename
        request.policy = self.retrier.map(SiteRetrier.init)
        return request
    }
}

/// The program that supplies fresh links of sites.
///
/// `@unchecked Sendable`: a world runs on one thread.
private final class SiteLinks: LinkRefresher, @unchecked Sendable {
    private let sites: [Site]
    private let refuses: Bool
    private var calls = 0

    init(_ sites: [Site], refusing refuses: Bool) {
        self.sites = sites
        self.refuses = refuses
    }

    func freshURL(for url: HTTPURL, status: Int) throws(TransferFailure) -> HTTPURL? {
        self.calls += 1
        if self.refuses, self.calls > 1 {
            if self.calls % 2 == 0 { return nil }
            throw TransferFailure(.authentication, "the program has no other link")
        }
        guard let site = self.sites.first(where: { $0.has(url.path) }) else { return nil }
        return try? HTTPURL(site.freshURL)
    }
}

/// Something that the user does while the command runs.
enum UserAction {
    case pause(job: Int, for: Int64)
    case pauseAll(for: Int64)
    case cancel(job: Int, keeping: Bool)
    case limit(transfers: Int)
    case rate(Int64?)
    case priority(job: Int, Priority)
    case connections(Int)

    var text: String {
        switch self {
        case .pause(let job, let time): "pauses job \(job) for \(time / 1_000_000) ms"
        case .pauseAll(let time): "pauses everything for \(time / 1_000_000) ms"
        case .cancel(let job, let keeping): "cancels job \(job)\(keeping ? ", keeping the partial file" : "")"
        case .limit(let transfers): "sets the limit to \(transfers) transfers"
        case .rate(let rate): "sets the rate limit to \(rate.map { "\($0) bytes a second" } ?? "none")"
        case .priority(let job, let priority): "sets the priority of job \(job) to \(priority)"
        case .connections(let count): "sets the limit for a host to \(count) connections"
        }
    }
}

/// The end of a process that it does not choose.
enum Kill {
    /// At a time after its start, in nanoseconds.
    case time(Int64)
    /// At its so many-th file system call that changes something, before or after it.
    case call(Int, isBefore: Bool)
    /// When so many bytes were received.
    case bytes(Int64)
    /// A time after a difference between the bytes of two responses was found, in nanoseconds.
    case difference(Int64)

    var text: String {
        switch self {
        case .time(let time): "after \(time / 1_000_000) ms"
        case .call(let number, let isBefore): "\(isBefore ? "before" : "after") file system call \(number)"
        case .bytes(let count): "after \(count) bytes"
        case .difference(let time): "\(time / 1_000_000) ms after a difference is found"
        }
    }
}
