// SPDX-License-Identifier: Apache-2.0
import Datasets
import HTTPTransport
import TransferCore
import TransferEngine

/// The validated arguments of `martlet get`.
struct GetPlan {
    /// The source of the URLs.
    enum Sources: Equatable {
        /// One file per URL.
        case urls([HTTPURL])
        /// One file with its mirrors.
        case mirrors([HTTPURL])
        /// An input file; `-` is standard input.
        case file(String)
        /// The table of ``GetPlan/dataset``.
        case table
    }

    /// The output format.
    enum Display: Equatable {
        /// For people.
        case text
        /// Failures only.
        case quiet
        /// One JSON object per event.
        case json
    }

    /// The source of the URLs.
    var sources: Sources
    /// The order for a table, or `nil`.
    var dataset: DatasetOrder?
    /// The name of the only file, or `nil`.
    var name: String?
    /// Whether the only file is written to standard output.
    var toStandardOutput = false
    /// The device or named pipe to which the only file is written, or `nil`.
    var device: String?
    /// The shell command that prints a fresh URL, or `nil`.
    var refreshCommand: String?
    /// The expected digests of the only file.
    var expected: [ExpectedDigest] = []
    /// The list of the digests of all files, or `nil`.
    var checksums: ChecksumsFetch.Source?
    /// The options of all requests; the run sets the destination.
    var options = DownloadOptions()
    /// The maximum number of concurrent files.
    var jobs = 5
    /// The maximum number of connections per host.
    var perHost = 5
    /// Whether the user has set this limit: a host then has no idle connections in addition, unless files use several.
    var limitsHosts = false
    /// The limits per registered domain, the intervals, and whether `robots.txt` is obeyed.
    var politeness = PolitenessLimits()
    /// The maximum rate in bytes per second, or `nil`.
    var rateLimit: Int64?
    /// The path of a PEM file with trusted certificates, or `nil` for the system's.
    var caFile: String?
    /// The public keys of which the servers must have one; with no `caFile`, such a key is enough.
    var pins: [TLSOptions.Pin] = []
    /// Whether certificates are verified.
    var verifiesCertificates = true
    /// The credentials and the cookies.
    var access = AccessPlan()
    /// The proxies, or `nil` to use the environment.
    var proxy: ProxySettings?
    /// The hosts to contact without a proxy, or `nil` to use the environment.
    var directHosts: String?
    /// Whether files are only asked about.
    var onlyExamines = false
    /// The only family of addresses to connect to, or `nil` for both.
    var family: AddressFamily?
    /// The output format.
    var display: Display = .text
    /// The message after an interrupted run.
    var afterStop = "received data is kept: run the same command again to continue"
    /// Whether details are reported.
    var verbose = false
    /// Whether the counts of a table are printed for a program.
    var printsCounts = false
    /// Prints the events as aria2 does, or `nil`.
    var printer: Aria2Printer?
    /// Whether progress may be drawn on a terminal.
    var drawsProgress = true

    /// Whether the ends of files are in a report, and need not be printed.
    var isReported: Bool { self.dataset?.report != nil }

    /// The maximum number of connections for one file.
    var connectionsPerFile: Int {
        switch self.options.connections {
        case .fixed(let count): min(count, self.perHost)
        case .adaptive(let most): min(most, self.perHost)
        }
    }
}

extension GetCommand {
    /// Validates the arguments and combines them.
    ///
    /// - Throws: ``SyntaxError`` with the problem and how to fix it.
    func plan() throws(SyntaxError) -> GetPlan {
        var plan = GetPlan(sources: try self.sources())
        let isSingle =
            switch plan.sources {
            case .mirrors: true
            case .urls(let urls): urls.count == 1
            case .file, .table: false
            }
        if let output = self.files.output {
            guard isSingle else {
                throw SyntaxError(
                    "--output names one file, but there are several URLs; use --directory, or out= lines in an input file"
                )
            }
            if output == "-" {
                plan.toStandardOutput = true
            } else if DescriptorSink.isDevice(output) {
                plan.device = output
            } else {
                let (directory, name) = try FilePath.split(output)
                plan.name = name
                plan.options.directory = FilePath.join(self.files.directory, directory)
            }
        }
        if plan.name == nil { plan.options.directory = self.files.directory }
        guard !plan.options.directory.isEmpty else { throw SyntaxError("--directory is empty; name a directory") }
        guard self.files.checksum.isEmpty || isSingle else {
            throw SyntaxError("--checksum is for one file; for several files, use checksum= lines in an input file")
        }
        plan.expected = self.files.checksum
        if let command = self.connections.refreshCommand {
            guard command.contains(where: { !$0.isWhitespace }) else {
                throw SyntaxError("--refresh-command is empty; give a shell command that prints a URL, or leave it out")
            }
            plan.refreshCommand = command
        }
        self.connections.apply(to: &plan)
        self.files.apply(to: &plan.options)
        self.requests.apply(to: &plan.options)
        try self.failures.apply(
            to: &plan.options,
            lowestRate: self.datasets.isGiven ? FailureOptions.lowestRateOfRows : 0
        )
        plan.options.addresses = try self.requests.addressRule(usual: self.datasets.isGiven ? .metadata : .none)
        self.politeness.apply(to: &plan)
        plan.politeness.addresses = plan.options.addresses
        if self.politeness.contact != nil, self.requests.userAgent != nil {
            throw SyntaxError(
                "--contact is part of the default User-Agent; put it into --user-agent, or leave that out"
            )
        }
        plan.options.fields = try self.requests.fields(agent: try self.politeness.agent())
        plan.access = try self.requests.accessPlan(fields: plan.options.fields, isTable: self.datasets.isGiven)
        plan.proxy = try self.requests.proxySettings()
        plan.directHosts = self.requests.noProxy
        plan.family = try self.requests.family()
        plan.onlyExamines = self.files.dryRun
        guard !plan.onlyExamines || !self.datasets.isGiven else {
            throw SyntaxError("--dry-run is for URLs and lists of URLs, not for tables; leave it out")
        }
        if plan.onlyExamines { (plan.device, plan.toStandardOutput) = (nil, false) }
        try self.requests.trust(in: &plan)
        try self.display.apply(to: &plan)
        if var dataset = try self.datasets.order() {
            dataset.complete(plan)
            plan.dataset = dataset
            plan.printsCounts = self.datasets.counts
        }
        try self.names.apply(to: &plan, self.files.ifExists)
        return plan
    }

    private func sources() throws(SyntaxError) -> GetPlan.Sources {
        if self.datasets.isGiven {
            guard self.urls.isEmpty, self.connections.mirror.isEmpty, self.files.inputFile == nil else {
                throw SyntaxError(
                    "a table cannot be used together with URLs or --input-file; put the URLs into the table"
                )
            }
            return .table
        }
        if let file = self.files.inputFile {
            guard self.urls.isEmpty, self.connections.mirror.isEmpty else {
                throw SyntaxError("--input-file and URLs cannot be used together; put the URLs into the file")
            }
            guard !file.isEmpty else {
                throw SyntaxError("--input-file is empty; name a file, or - for standard input")
            }
            return .file(file)
        }
        guard !self.urls.isEmpty else {
            throw SyntaxError("no URL given; write martlet get URL, or martlet get --input-file FILE")
        }
        var parsed: [HTTPURL] = []
        for text in self.urls { parsed.append(try BareHost.url(text)) }
        guard !self.connections.mirror.isEmpty else { return .urls(parsed) }
        guard parsed.count == 1 else {
            throw SyntaxError(
                "--mirror is for one URL; for several files, list each file's mirrors on its line of an input file"
            )
        }
        for text in self.connections.mirror { parsed.append(try BareHost.url(text)) }
        return .mirrors(parsed)
    }
}
