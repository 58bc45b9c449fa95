// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import HTTPTransport
import TransferCore
import TransferEngine

// The groups of options of `martlet get` and `put`, each with what its options set in a plan.

/// Options for the sources and destinations of files.
struct FileOptions: ParsableArguments {
    @Option(.inputFile) var inputFile: String?
    @Option(.output) var output: String?
    @Option(.directory) var directory: String = "."
    @Option(.ifExists) var ifExists: IfExistsRule?
    @Option(.ifRunning) var ifRunning: IfRunningRule?
    @Option(.checksum) var checksum: [ExpectedDigest] = []
    @Option(.digest) var digest: DigestAlgorithm?
    @Flag(.deleteBad) var deleteBad = false
    @Flag(.durable) var durable = false
    @Flag(.dryRun) var dryRun = false
}

extension FileOptions {
    /// Sets the options for existing files and digests.
    func apply(to options: inout DownloadOptions) {
        OptionSpec.ifExists.apply(self.ifExists, to: &options)
        OptionSpec.ifRunning.apply(self.ifRunning, to: &options)
        OptionSpec.durable.apply(self.durable, to: &options)
        OptionSpec.deleteBad.apply(self.deleteBad, to: &options)
        OptionSpec.digest.apply(self.digest, to: &options)
    }
}

/// Options for the number of connections and their rate.
struct ConnectionOptions: ParsableArguments {
    @Option(.jobs) var jobs: Int = 5
    @Option(.connections) var connections: Int?
    @Option(.perHost) var perHost: Int?
    @Option(.minSplitSize) var minSplitSize: Int64?
    @Option(.mirror) var mirror: [String] = []
    @Option(.refreshCommand) var refreshCommand: String?
    @Option(.priority) var priority: Priority?
    @Option(.limitRate) var limitRate: Int64 = 0
}

extension ConnectionOptions {
    /// Sets the options for connections and rates.
    func apply(to plan: inout GetPlan) {
        plan.jobs = self.jobs
        plan.limitsHosts = self.perHost != nil
        plan.perHost = self.perHost ?? max(self.jobs, self.connections ?? 4)
        plan.rateLimit = self.limitRate > 0 ? self.limitRate : nil
        OptionSpec.connections.apply(self.connections, to: &plan.options)
        OptionSpec.minSplitSize.apply(self.minSplitSize, to: &plan.options)
        OptionSpec.priority.apply(self.priority, to: &plan.options)
    }
}

/// Options for request header fields, proxies and trust.
struct RequestOptions: ParsableArguments, AccessOptions, AddressOptions {
    @Option(.header) var header: [HeaderLine] = []
    @Option(.referer) var referer: String?
    @Option(.userAgent) var userAgent: String?
    @Option(.cookie) var cookie: String?
    @Flag(.noCache) var noCache = false
    @Option(.proxy) var proxy: String?
    @Option(.noProxy) var noProxy: String?
    @Option(.cacert) var cacert: String?
    @Option(.pin) var pin: [String] = []
    @Flag(.insecure) var insecure = false
    @Flag(.allowDowngrade) var allowDowngrade = false
    @Option(.maxRedirects) var maxRedirects: Int?
    @Flag(.ipv4) var ipv4 = false
    @Flag(.ipv6) var ipv6 = false
    @Flag(.denyPrivateAddresses) var denyPrivateAddresses = false
    @Option(.allowAddresses) var allowAddresses: [String] = []
    @Option(.user) var user: String?
    @Flag(.netrc) var netrc = false
    @Option(.netrcFile) var netrcFile: String?
    @Option(.bearerFile) var bearerFile: String?
    @Option(.loadCookies) var loadCookies: String?
    @Flag(.digestOnly) var digestOnly = false
    @Option(.cookieJar) var cookieJar: String?
    @Option(.cert) var cert: String?
    @Option(.key) var key: String?
}

extension RequestOptions {
    /// Sets the options for redirects.
    func apply(to options: inout DownloadOptions) {
        OptionSpec.maxRedirects.apply(self.maxRedirects, to: &options)
        OptionSpec.allowDowngrade.apply(self.allowDowngrade, to: &options)
    }

    /// The only family of addresses to connect to, or `nil` for both.
    ///
    /// - Throws: ``SyntaxError`` if both are required.
    func family() throws(SyntaxError) -> AddressFamily? {
        guard !self.ipv4 || !self.ipv6 else {
            throw SyntaxError("--ipv4 and --ipv6 cannot be used together; without them, both families are used")
        }
        return self.ipv4 ? .ipv4 : self.ipv6 ? .ipv6 : nil
    }

    /// Sets how certificates are verified.
    ///
    /// - Throws: ``SyntaxError`` if options cannot be used together.
    func trust(in plan: inout GetPlan) throws(SyntaxError) {
        plan.caFile = self.cacert
        plan.verifiesCertificates = !self.insecure
        guard plan.caFile == nil || plan.verifiesCertificates else {
            throw SyntaxError("--cacert and --insecure cannot be used together; leave one out")
        }
        guard self.pin.isEmpty || plan.verifiesCertificates else {
            throw SyntaxError("--pin and --insecure cannot be used together; leave one out")
        }
        do throws(SyntaxError) {
            plan.pins = []
            for text in self.pin {
                let pins = try TLSOptions.Pin.list(text)
                plan.pins += pins.isEmpty ? [try TLSOptions.Pin(text)] : pins
            }
        } catch {
            throw SyntaxError("--pin: \(error.message)")
        }
    }

    /// The proxies, or `nil` to use the environment.
    func proxySettings() throws(SyntaxError) -> ProxySettings? {
        guard let text = self.proxy else { return nil }
        if text == "none" { return ProxySettings.none }
        do {
            return ProxySettings(try ProxyServer(text, from: "--proxy"))
        } catch {
            throw SyntaxError(error.message)
        }
    }

    /// The header fields of every request; a dedicated option replaces the same field given with `--header`.
    ///
    /// - Parameter agent: The default User-Agent field.
    /// - Returns: The names and values, in order.
    /// - Throws: ``SyntaxError`` if a value is not valid.
    func fields(agent: String = "martlet/\(MartletVersion.text)") throws(SyntaxError) -> [(String, String)] {
        var fields = self.header.map { ($0.name, $0.value) }
        for (name, value) in [("Referer", self.referer), ("User-Agent", self.userAgent), ("Cookie", self.cookie)] {
            guard let value else { continue }
            fields.removeAll { $0.0.lowercased() == name.lowercased() }
            fields.append((name, value))
        }
        if self.noCache { fields += HeaderLine.noCache(besides: fields) }
        if !fields.contains(where: { $0.0.lowercased() == "user-agent" }) {
            fields.append(("User-Agent", agent))
        }
        return fields
    }
}

/// Options for retries and timeouts.
struct FailureOptions: ParsableArguments {
    @Option(.retries) var retries: Int?
    @Option(.retryStatus) var retryStatus: [Int] = []
    @Option(.retryWait) var retryWait: Duration?
    @Option(.connectTimeout) var connectTimeout: Duration?
    @Option(.stallTimeout) var stallTimeout: Duration?
    @Option(.outageTimeout) var outageTimeout: Duration = .seconds(30)
    @Option(.minRate) var minRate: Int64?
    @Option(.minRateTime) var minRateTime: Duration?
    @Option(.maxTime) var maxTime: Duration?
}

extension FailureOptions {
    /// The lowest rate for rows of a table, in bytes per second: a server that is slower holds up a place of the run.
    static let lowestRateOfRows: Int64 = 1 << 10
    /// The time over which the lowest rate is averaged.
    static let lowestRateTime = Duration.seconds(30)

    /// Sets the options for retries and timeouts.
    ///
    /// - Parameters:
    ///   - options: The options to change.
    ///   - lowestRate: The lowest rate in bytes per second, unless one is given; 0 for none.
    /// - Throws: ``SyntaxError`` if options cannot be used together.
    func apply(to options: inout DownloadOptions, lowestRate: Int64 = 0) throws(SyntaxError) {
        let rate = self.minRate ?? lowestRate
        if let time = self.minRateTime {
            guard rate > 0 else { throw SyntaxError("--min-rate-time is for --min-rate; give the lowest rate too") }
            guard time >= .seconds(1) else { throw SyntaxError("--min-rate-time is too short; give at least 1 second") }
        }
        let (seconds, attoseconds) = (self.minRateTime ?? Self.lowestRateTime).components
        options.speedFloor = SpeedFloor(rate: rate, window: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        if !self.retryStatus.isEmpty { options.retryStatuses = Set(self.retryStatus) }
        OptionSpec.retries.apply(self.retries, to: &options)
        OptionSpec.retryWait.apply(self.retryWait, to: &options)
        OptionSpec.connectTimeout.apply(self.connectTimeout, to: &options)
        OptionSpec.stallTimeout.apply(self.stallTimeout, to: &options)
        OptionSpec.outageTimeout.apply(self.outageTimeout, to: &options)
        OptionSpec.maxTime.apply(self.maxTime, to: &options)
    }
}

/// Options for output.
struct DisplayOptions: ParsableArguments {
    @Flag(.quiet) var quiet = false
    @Flag(.verbose) var verbose = false
    @Flag(.json) var json = false
    @Flag(.noProgress) var noProgress = false
}

extension DisplayOptions {
    /// Sets the options for output.
    ///
    /// - Throws: ``SyntaxError`` if options cannot be used together.
    func apply(to plan: inout GetPlan) throws(SyntaxError) {
        guard !(self.quiet && self.verbose) else {
            throw SyntaxError("--quiet and --verbose cannot be used together; leave one out")
        }
        plan.display = self.json ? .json : self.quiet ? .quiet : .text
        plan.verbose = self.verbose
        plan.drawsProgress = !self.noProgress
    }
}
