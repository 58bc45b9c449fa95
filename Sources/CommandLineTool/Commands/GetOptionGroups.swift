// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore
import TransferEngine

/// Options for the sources and destinations of files.
struct FileOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Read URLs from a file, or from standard input if it is '-'.",
            discussion: """
                One file per line, mirrors separated by TABs; the indented lines after it set out=, dir=, checksum=, \
                header=, referer= and user-agent= for that file. Lines that begin with # are comments.
                """,
            valueName: "file"
        ),
        completion: .file()
    )
    var inputFile: String?

    @Option(
        name: [.customShort("o", allowingJoined: true), .long],
        help: ArgumentHelp(
            "File name, device or named pipe, or '-' for standard output; for one URL only.",
            discussion:
                "The file gets this name or none: another file with it is an error, unless --if-exists permits more.",
            valueName: "name"
        ),
        completion: .file()
    )
    var output: String?

    @Option(
        name: [.customShort("d", allowingJoined: true), .long],
        help: ArgumentHelp("Directory for the files; created if it does not exist.", valueName: "dir"),
        completion: .directory
    )
    var directory: String = "."

    @Option(
        help: ArgumentHelp(
            "What to do if the file already exists. (default: auto)",
            discussion: """
                One of auto, update, skip, resume, rename, overwrite and fail. auto skips a file equal to the server's, \
                resumes one that martlet started, and otherwise adds a number to a name that the server or the URL \
                chose; a name given with -o or out= fails with status 13. update is --timestamping.
                """,
            valueName: "what"
        ),
        completion: .list(DownloadOptions.IfExists.allCases.map(\.rawValue)),
        transform: { try Choice.parse($0, among: DownloadOptions.IfExists.allCases) }
    )
    var ifExists: DownloadOptions.IfExists = .auto

    @Option(
        help: ArgumentHelp(
            "What to do if another process is downloading the file. (default: wait)",
            discussion: """
                One of wait, fail and rename. wait continues when the other process has ended, and decides then by \
                --if-exists; fail ends with status 11; rename adds a number to the name and downloads the file twice. \
                With --if-exists rename or fail, the default is rename or fail.
                """,
            valueName: "what"
        ),
        completion: .list(IfRunningRule.allCases.map(\.rawValue)),
        transform: { try Choice.parse($0, among: IfRunningRule.allCases) }
    )
    var ifRunning: IfRunningRule?

    @Option(
        help: ArgumentHelp(
            "Expected digest of the file, as ALGORITHM:DIGEST; may be repeated.",
            discussion: "Algorithms: md5, sha1, sha256, sha384, sha512; the digest in hexadecimal or base64.",
            valueName: "digest"
        ),
        transform: { try ChecksumArgument.parse($0) }
    )
    var checksum: [ExpectedDigest] = []

    @Option(
        help: ArgumentHelp("Report the digest of each file with this algorithm.", valueName: "algorithm"),
        completion: .list(DigestAlgorithm.allCases.map(\.rawValue)),
        transform: { try ChecksumArgument.algorithm($0) }
    )
    var digest: DigestAlgorithm?

    @Flag(help: "Delete a file that fails its checksum instead of keeping it as NAME.martlet-bad.")
    var deleteBad = false

    @Flag(help: "Sync every file to disk before it is reported as finished.")
    var durable = false
}

/// Options for the number of connections and their rate.
struct ConnectionOptions: ParsableArguments {
    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: ArgumentHelp(
            "Maximum concurrent files; if above 1, files whose host is silent for 5 s do not count. (default: 5)",
            valueName: "number"
        ),
        transform: { try WholeNumber.parse($0, in: 1...10000) }
    )
    var jobs: Int = 5

    @Option(
        name: [.customShort("x", allowingJoined: true), .long],
        help: ArgumentHelp(
            "Connections per file. (default: up to 4, while more increase the rate)",
            valueName: "number"
        ),
        transform: { try WholeNumber.parse($0, in: 1...1024) }
    )
    var connections: Int?

    @Option(
        help: ArgumentHelp(
            "Maximum connections per host. (default: the larger of --jobs and --connections)",
            valueName: "number"
        ),
        transform: { try WholeNumber.parse($0, in: 1...10000) }
    )
    var perHost: Int?

    @Option(
        help: ArgumentHelp(
            "Minimum size of the part for an additional connection. (default: 1M)",
            valueName: "size"
        ),
        transform: { try ByteSize.parse($0) }
    )
    var minSplitSize: Int64?

    @Option(
        help: ArgumentHelp(
            "Another URL of the same file, used in addition to the first; may be repeated.",
            valueName: "url"
        )
    )
    var mirror: [String] = []

    @Option(
        help: ArgumentHelp(
            "Run a shell command for a fresh URL when the server responds with 401, 403 or 410.",
            discussion: """
                The command prints the URL on the first line of its standard output; the download continues after the \
                bytes already received. It gets the refused URL in MARTLET_URL and the status in MARTLET_STATUS, and \
                may run for 60 seconds.
                """,
            valueName: "command"
        )
    )
    var refreshCommand: String?

    @Option(
        help: ArgumentHelp(
            "Priority of the files: foreground, high, normal or low. (default: normal)",
            valueName: "priority"
        ),
        completion: .list(Priority.allCases.reversed().map(\.name)),
        transform: { try Choice.parse($0, among: Priority.allCases) }
    )
    var priority: Priority = .normal

    @Option(
        help: ArgumentHelp("Maximum bytes per second for the whole run. (default: 0, no limit)", valueName: "size"),
        transform: { try ByteSize.parse($0) }
    )
    var limitRate: Int64 = 0
}

/// Options for request header fields, proxies and trust.
struct RequestOptions: ParsableArguments {
    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp(
            "Header field for every request, as 'Name: value'; may be repeated.",
            discussion: "It is not sent to other hosts after a redirect.",
            valueName: "field"
        ),
        transform: { text in try HeaderPair(text) }
    )
    var header: [HeaderPair] = []

    @Option(help: ArgumentHelp("The Referer field.", valueName: "url"))
    var referer: String?

    @Option(help: ArgumentHelp("The User-Agent field. (default: martlet/\(MartletVersion.text))", valueName: "text"))
    var userAgent: String?

    @Option(help: ArgumentHelp("Cookies to send, as 'name=value; name=value'.", valueName: "cookies"))
    var cookie: String?

    @Option(
        help: ArgumentHelp(
            "Proxy, as http://user:password@host:port, or 'none'.",
            discussion: "Default: the environment variables http_proxy, https_proxy, all_proxy and no_proxy.",
            valueName: "url"
        )
    )
    var proxy: String?

    @Option(help: ArgumentHelp("Hosts to contact directly, separated by commas; '*' for all.", valueName: "hosts"))
    var noProxy: String?

    @Option(
        help: ArgumentHelp("Trust the certificates in this PEM file instead of the system's.", valueName: "file"),
        completion: .file()
    )
    var cacert: String?

    @Option(
        help: ArgumentHelp(
            "Accept only servers with this public key, as sha256//BASE64; may be repeated.",
            discussion: """
                Without --cacert the key is sufficient, as for a self-signed certificate; with it, both must match. \
                'martlet serve --tls-self-signed' prints its pin.
                """,
            valueName: "pin"
        )
    )
    var pin: [String] = []

    @Flag(help: "Accept any certificate. An attacker on the network can then modify the files.")
    var insecure = false

    @Flag(help: "Follow redirects from https to http.")
    var allowDowngrade = false

    @Option(
        help: ArgumentHelp("Maximum redirects to follow. (default: 20)", valueName: "number"),
        transform: { try WholeNumber.parse($0, in: 0...1000) }
    )
    var maxRedirects: Int = 20

    @OptionGroup var addresses: AddressOptions

    /// A header field.
    struct HeaderPair: Sendable, Equatable {
        var name: String
        var value: String

        init(_ text: String) throws(BadValue) { (self.name, self.value) = try HeaderField.parse(text) }
    }
}

/// Options for retries and timeouts.
struct FailureOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Retries without progress before giving up. (default: 5)", valueName: "number"),
        transform: { try WholeNumber.parse($0, in: 0...1_000_000) }
    )
    var retries: Int = 5

    @Option(
        help: ArgumentHelp(
            "Response status to retry; may be repeated. (default: 408, 429, 500, 502, 503, 504)",
            valueName: "status"
        ),
        transform: { try WholeNumber.parse($0, in: 400...599) }
    )
    var retryStatus: [Int] = []

    @Option(
        help: ArgumentHelp(
            "Maximum seconds for name resolution, connection and TLS handshake. (default: 30)",
            valueName: "seconds"
        ),
        transform: { try Seconds.parse($0) }
    )
    var connectTimeout: Duration?

    @Option(
        help: ArgumentHelp(
            "Maximum seconds without a byte received, or for a complete response head. (default: 60)",
            valueName: "seconds"
        ),
        transform: { try Seconds.parse($0) }
    )
    var stallTimeout: Duration?

    @Option(
        help: ArgumentHelp(
            "Seconds to wait while the host or the network is unreachable or out of order. (default: 30)",
            discussion: """
                The time starts when the host becomes unreachable, or when three transfers with different URLs \
                received 429, 502, 503, 504 or 520 to 530 and nothing else came from the host. Transfers that wait \
                for the host do not use retries; martlet makes one attempt at a time for all of them. With 0, each \
                transfer uses its own retries. The same time applies to a file system that is full or read-only.
                """,
            valueName: "seconds"
        ),
        transform: { try Seconds.parse($0) }
    )
    var outageTimeout: Duration?

    /// The default time to wait for the end of an outage.
    static let defaultOutageTimeout = Duration.seconds(30)

    @Option(
        help: ArgumentHelp(
            "Fail a file that stays slower than this many bytes per second; 0 for none. (default: 0, tables: 1K)",
            discussion: """
                Only if the server would continue what is kept. Time in which --limit-rate, the disk or the reader of \
                the output sets the rate does not count. Other mirrors are tried first.
                """,
            valueName: "size"
        ),
        transform: { try ByteSize.parse($0) }
    )
    var minRate: Int64?

    @Option(
        help: ArgumentHelp("Seconds over which --min-rate is averaged. (default: 30)", valueName: "seconds"),
        transform: { try Seconds.parse($0) }
    )
    var minRateTime: Duration?

    @Option(
        help: ArgumentHelp("Maximum seconds for one file from its start. (default: no limit)", valueName: "seconds"),
        transform: { try Seconds.parse($0) }
    )
    var maxTime: Duration?
}

/// Options for output.
struct DisplayOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Print failures only.")
    var quiet = false

    @Flag(help: "Also print responses, retries and decisions.")
    var verbose = false

    @Flag(help: "Write one JSON object per event to standard output (to standard error with -o -).")
    var json = false

    @Flag(help: "Do not show progress on a terminal.")
    var noProgress = false
}
