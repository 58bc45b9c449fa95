// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import HTTPTransport
import Platform
import TransferCore
import TransferEngine

/// The validated arguments of `aria2c`.
struct Aria2Plan: Sendable {
    /// The source of the URLs.
    enum Sources: Sendable, Equatable {
        /// Files with their mirrors.
        case entries([InputEntry])
        /// An input file; `-` is standard input.
        case file(String)
    }

    /// The source of the URLs.
    var sources: Sources
    /// aria2's options of each download.
    var options: TransferOptions
    var queue: TransferOptions
    /// The settings of the output.
    var output = Aria2Output()
    /// All settings.
    let settings: Aria2Settings
    /// Problems that do not end the run.
    var warnings: [String] = []

    /// Whether it becomes the daemon.
    var isDaemon: Bool { self.settings.flag("enable-rpc") ?? false }
    /// Whether it runs in the background.
    var isDetached: Bool { self.settings.flag("daemon") ?? false }
    /// The file for the unfinished downloads, or `nil`.
    var session: String? { self.queue[.saveSession].flatMap { $0.isEmpty ? nil : $0 } }

    /// Combines the settings of the command line and of the configuration file.
    ///
    /// - Parameters:
    ///   - settings: The settings.
    ///   - directory: The working directory, absolute.
    /// - Throws: ``Aria2Error`` for values that cannot be used together, and if there is nothing to do.
    init(_ settings: Aria2Settings, in directory: String) throws(Aria2Error) {
        self.settings = settings
        self.warnings = settings.warnings
        self.options = settings.downloadOptions
        self.queue = settings.queueOptions
        // aria2 names the files of the working directory by absolute paths.
        if let dir = self.options[.dir] {
            self.options[.dir] = dir.isEmpty ? "." : Self.trimmed(dir)
        } else {
            self.options[.dir] = directory
        }
        // More than the engine uses.
        for (name, most) in [(OptionName.split, 256), (.maxTries, 1_000_000)] {
            if let value = self.options[name].flatMap({ Int($0) }) { self.options[name] = "\(min(value, most))" }
        }
        if let jobs = self.queue[.maxConcurrentDownloads].flatMap({ Int($0) }) {
            self.queue[.maxConcurrentDownloads] = "\(min(jobs, 10_000))"
        }
        if let path = self.options[.loadCookies], !path.isEmpty {
            self.options[.loadCookies] = PosixPath.absolute(path)
        }
        if let file = settings.text("input-file") {
            self.sources = .file(file)
        } else {
            self.sources = .entries([])
            self.sources = .entries(try self.entries())
        }
        if case .entries(let entries) = self.sources, entries.isEmpty, !self.isDaemon {
            throw Aria2Error(status: 1, "Specify at least one URL.\n" + Aria2Settings.usage)
        }
        if let gid = self.options[.gid], GID(gid) == nil {
            throw .exception("\(DisplayText.clean(gid)) is invalid for GID.")
        }
        self.options[.out] = nil
        if case .entries(let entries) = self.sources, entries.count == 1 {} else { self.options[.gid] = nil }
        self.output = Aria2Output(settings)
    }

    /// The directory without trailing slashes, which yt-dlp appends to keep spaces.
    private static func trimmed(_ path: String) -> String {
        var path = Substring(path)
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        return String(path)
    }

    // MARK: URLs on the command line

    private mutating func entries() throws(Aria2Error) -> [InputEntry] {
        let isSequential = self.settings.flag("force-sequential") ?? false
        let words = self.settings.arguments.map(\.trimmingBlanks).filter { !$0.isEmpty }
        var entries: [InputEntry] = []
        for group in isSequential ? words.map({ [$0] }) : words.isEmpty ? [] : [words] {
            let mirrors = MirrorURLs(group)
            guard !mirrors.urls.isEmpty else {
                throw .exception(mirrors.problems.first ?? "No URI to download.")
            }
            self.warnings += mirrors.problems
            var entry = InputEntry(line: 0)
            entry.urls = mirrors.urls
            entries.append(entry)
        }
        // aria2 ignores the name if there are several files.
        if !isSequential, entries.count == 1, let out = self.options[.out], !out.isEmpty {
            entries[0].name = try Self.name(out)
        }
        return entries
    }

    /// The name of `--out`: relative to the directory, also if it begins with a slash.
    static func name(_ out: String) throws(Aria2Error) -> String {
        let parts = out.split(separator: "/").filter { $0 != "." }
        guard let last = parts.last, last != "..", !out.hasSuffix("/") else {
            throw .exception("\(DisplayText.clean(out)) does not name a file.")
        }
        return parts.joined(separator: "/")
    }
}

// MARK: The run without the RPC

extension Aria2Plan {
    /// The plan of the run.
    ///
    /// - Throws: ``Aria2Error`` for options that cannot be used.
    func run() throws(Aria2Error) -> GetPlan {
        var plan = GetPlan(sources: .urls([]))
        do {
            plan.options.directory = self.options[.dir] ?? "."
            plan.options.outageTimeout = .seconds(30)
            plan.options.connectTimeout = .seconds(60)
            // aria2's default of five tries.
            plan.options.retries = 4
            plan.options.retriesIncludeOutages = true
            try self.options.apply(to: &plan.options)
            plan.options.connections = .fixed(self.connections(self.options, mirrors: 1))
            plan.jobs = min(10_000, self.queue[.maxConcurrentDownloads].flatMap { Int($0) } ?? 5)
            plan.perHost = min(10_000, plan.jobs * self.connections(self.options, mirrors: 1))
            let limit = self.queue[.maxOverallDownloadLimit].flatMap { Aria2Option.size($0) } ?? 0
            plan.rateLimit = limit > 0 ? limit : nil
            plan.options.fields = try self.fields()
            plan.proxy = try self.options.proxySettings()
            plan.directHosts = plan.proxy == nil ? self.options[.noProxy] : nil
            plan.access = self.access()
        } catch let error as ControlError {
            throw Aria2Error(
                status: ExitStatus.usage,
                "Exception: errorCode=28 \(DisplayText.clean(error.description))"
            )
        } catch {
            throw Aria2Error(status: ExitStatus.usage, "Exception: errorCode=28 \(error)")
        }
        if let file = self.settings.text("ca-certificate"), !file.isEmpty { plan.caFile = file }
        if self.settings.flag("check-certificate") == false {
            plan.verifiesCertificates = false
            plan.caFile = nil
        }
        if self.settings.flag("disable-ipv6") == true { plan.family = .ipv4 }
        plan.afterStop = "run the same command again to continue"
        return plan
    }

    /// The credentials and cookies of the run; a file's own are applied to its request.
    private func access() -> AccessPlan {
        func path(_ name: String) -> String? { self.settings.text(name).flatMap { $0.isEmpty ? nil : $0 } }
        var access = AccessPlan()
        if let user = self.options[.httpUser], !user.isEmpty {
            access.login = AccessPlan.Login(name: user, password: self.options[.httpPassword] ?? "")
        }
        if self.settings.flag("no-netrc") != true {
            access.netrcPath = path("netrc-path") ?? self.usualNetrc
        }
        access.loadCookies = self.options[.loadCookies].flatMap { $0.isEmpty ? nil : $0 }
        access.cookieJar = path("save-cookies")
        access.certificate = path("certificate")
        access.key = path("private-key")
        return access
    }

    /// The usual netrc file, if there is one that only its owner can read: aria2 does not use others either.
    private var usualNetrc: String? {
        var status = stat()
        guard let path = try? NetrcFile.usualPath(), stat(path, &status) == 0, status.st_mode & 0o077 == 0 else {
            return nil
        }
        return path
    }

    /// The header fields of all requests.
    private func fields() throws(SyntaxError) -> [(String, String)] {
        var fields: [(String, String)] = []
        for text in self.options[all: .header] {
            let field = try OptionSpec.header.syntax.parsed(text)
            fields.append((field.name, field.value))
        }
        if let agent = self.options[.userAgent] {
            fields.removeAll { $0.0.lowercased() == "user-agent" }
            if !agent.isEmpty { fields.append(("User-Agent", try OptionSpec.userAgent.syntax.parsed(agent))) }
        } else if !fields.contains(where: { $0.0.lowercased() == "user-agent" }) {
            fields.append(("User-Agent", "martlet/\(MartletVersion.text)"))
        }
        return fields
    }

    /// The number of connections for a file: `--split`, and `--max-connection-per-server` for each mirror.
    func connections(_ options: TransferOptions, mirrors: Int) -> Int {
        let split = options[.split].flatMap { Int($0) } ?? 5
        let perServer = options[.maxConnectionPerServer].flatMap { Int($0) } ?? 1
        return max(1, min(split, perServer * mirrors, 64))
    }

    /// The request of a file.
    ///
    /// - Parameters:
    ///   - entry: The file, with its own options.
    ///   - base: The options of the run.
    ///   - cookies: The cookie files that were read.
    /// - Returns: The request and its identifier.
    /// - Throws: ``SyntaxError`` with the name of the option.
    func request(
        _ entry: InputEntry,
        _ base: DownloadOptions,
        _ cookies: CookieFiles
    ) throws(SyntaxError) -> (DownloadRequest, GID) {
        var entry = entry
        // What the run has applies to all files.
        var common = self.options
        common.remove([.httpUser, .httpPassword, .loadCookies])
        entry.options = common.merging(entry.options)
        var fields = entry.fields.map { ($0.name, $0.value) }
        if let referer = self.options[.referer], !fields.contains(where: { $0.0 == "Referer" }) {
            fields.append(("Referer", try OptionSpec.referer.syntax.parsed(referer)))
        }
        fields = fields.map { $0.0 == "Referer" && $0.1 == "*" ? ($0.0, entry.urls[0].withoutUserInfo) : $0 }
        var request = DownloadRequest(
            entry.urls,
            name: entry.name,
            directory: entry.directory ?? base.directory,
            expected: try self.digests(entry),
            fields: fields,
            options: base
        )
        if fields.contains(where: { $0.0.lowercased() == "user-agent" }) {
            request.options.fields.removeAll { $0.0.lowercased() == "user-agent" }
        }
        if let path = entry.name, let slash = path.utf8.lastIndex(of: 0x2F) {
            request.name = String(path[path.utf8.index(after: slash)...])
            request.directory = FilePath.join(entry.directory ?? base.directory, String(path[..<slash]))
        }
        request.namesByFinalURL = true
        try entry.apply(to: &request, cookies)
        let mirrors = Set(entry.urls.map(\.origin)).count
        request.options.connections = .fixed(self.connections(entry.options, mirrors: mirrors))
        let rule = Self.rule(entry.options)
        request.options.ifExists = rule.ifExists
        request.nameIsExact = rule.isExact
        let id = entry.options[.gid].flatMap { GID($0) } ?? GID.random()
        request.userInfo = id
        return (request, id)
    }

    /// The rule for an existing file, and whether no other name may be used.
    ///
    /// | aria2 | here |
    /// |---|---|
    /// | `--allow-overwrite=true` | replaced once the new one is complete |
    /// | `-c` | skipped if it is the server's; continued after its end was compared with the response |
    /// | neither | another name; without `--auto-file-renaming`, an error |
    ///
    /// A partial file of this program is continued in each case, as aria2 continues one that has a control file.
    static func rule(_ options: TransferOptions) -> (ifExists: DownloadOptions.IfExists, isExact: Bool) {
        let renames = options[.autoFileRenaming] != "false"
        if options[.allowOverwrite] == "true" { return (.overwrite, !renames) }
        if options[.continue] == "true" { return (.resume, !renames) }
        return renames ? (.rename, false) : (.fail, true)
    }

    private func digests(_ entry: InputEntry) throws(SyntaxError) -> [ExpectedDigest] {
        if !entry.expected.isEmpty { return entry.expected }
        return try self.options[all: .checksum]
            .map { (text) throws(SyntaxError) in
                try OptionSpec.checksum.syntax.parsed(text)
            }
    }
}
