// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore
import TransferEngine

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

/// Options for request header fields, proxies and trust.
struct RequestOptions: ParsableArguments, AccessOptions, AddressOptions {
    @Option(.header) var header: [HeaderLine] = []
    @Option(.referer) var referer: String?
    @Option(.userAgent) var userAgent: String?
    @Option(.cookie) var cookie: String?
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

/// Options for output.
struct DisplayOptions: ParsableArguments {
    @Flag(.quiet) var quiet = false
    @Flag(.verbose) var verbose = false
    @Flag(.json) var json = false
    @Flag(.noProgress) var noProgress = false
}
