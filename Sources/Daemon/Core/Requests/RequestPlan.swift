// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore
internal import TransferEngine

/// The parsed options of a transfer: the engine's request, and settings that the engine takes separately.
struct RequestPlan {
    /// The request, without policy and user information; for an upload the part that it shares with downloads.
    var request: DownloadRequest
    /// The request of an upload, also without policy and user information.
    var upload: UploadRequest?
    /// Its own proxies, or `nil` for those of its lane.
    var proxy: ProxySettings?
    /// The user name and password for its servers.
    var credential: Credential?
    /// The path of a cookie file.
    var cookieFile: String?
    /// Whether the request is made conditional on the modification time of an existing file.
    var isConditional = false
    /// Whether only the availability of the file is checked.
    var isDryRun = false
}

extension RequestPlan {
    /// The options that take effect while a transfer runs, or change nothing about its request.
    static let liveOptions = QueueOption.names(.running)

    /// Parses the options of a transfer.
    ///
    /// - Parameters:
    ///   - urls: Its URLs.
    ///   - upload: The content, if it is an upload.
    ///   - options: Its options, including the defaults of its lane.
    ///   - directory: The directory of its file.
    ///   - base: The download options of its lane.
    ///   - baseFields: Header fields that are added unless the options set fields of the same names.
    /// - Throws: `badParameter` that names the option.
    init(
        urls: [String],
        upload: UploadSource? = nil,
        options: TransferOptions,
        directory: String,
        base: DownloadOptions,
        baseFields: [(String, String)]
    ) throws(ControlError) {
        let reader = OptionReader(options: options)
        let proxy = try Self.proxy(options)
        var own = base
        own.durable = true
        own.keepBad = false
        own.ifExists = try Self.rule(reader)
        own.ifRunning = try reader.choice(.ifRunning) ?? own.ifRunning
        try Self.readLimits(reader, &own)
        own.addresses = try Self.addresses(reader, base.addresses, hasProxy: proxy != nil)
        var request = DownloadRequest(try Self.sources(urls), options: own)
        request.directory = directory
        request.name = try Self.name(options[.out])
        request.expected = try Self.digests(options[all: .checksum])
        if request.name != nil { request.nameIsExact = try Self.isExact(own.ifExists, reader) }
        request.namesByFinalURL = reader.options[.nameFrom] == "last"
        try Self.readContent(reader, &request)
        try Self.readFields(reader, baseFields, &request)
        self.init(request: request)
        self.proxy = proxy
        if let user = options[.httpUser], !user.isEmpty {
            self.credential = .password(user: user, password: options[.httpPassword] ?? "")
        }
        self.cookieFile = options[.loadCookies].flatMap { $0.isEmpty ? nil : $0 }
        self.isConditional = try reader.flag(.conditionalGet) ?? false
        self.isDryRun = try reader.flag(.dryRun) ?? false
        if self.isDryRun { self.request.onlyExamine() }
        _ = try reader.flag(.continue)
        if let text = options[.userInfo], (try? JSON(parsing: text)) == nil {
            throw reader.wrong(.userInfo, "a JSON text")
        }
        if let upload { self.upload = try Self.upload(upload, request, reader) }
    }

    /// Returns the priority in the options; 0 by default.
    static func priority(_ options: TransferOptions) throws(ControlError) -> Int {
        try OptionReader(options: options).count(.priority) ?? 0
    }

    private static func sources(_ urls: [String]) throws(ControlError) -> [HTTPURL] {
        guard !urls.isEmpty else { throw ControlError(.badParameter, "no URL given", remedy: "give at least one") }
        var sources: [HTTPURL] = []
        for text in urls {
            do throws(SyntaxError) {
                sources.append(try HTTPURL(text))
            } catch {
                throw ControlError(.badParameter, error.message)
            }
        }
        return sources
    }

    /// Returns a relative path below the directory; rejects names that would leave it.
    private static func name(_ text: String?) throws(ControlError) -> String? {
        guard let text, !text.isEmpty else { return nil }
        let parts = text.split(separator: "/", omittingEmptySubsequences: true)
        guard !text.hasPrefix("/"), !text.hasSuffix("/"), !parts.isEmpty,
            parts.allSatisfy({ $0 != "." && $0 != ".." && $0.utf8.count <= FileName.longest }),
            text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else {
            throw ControlError(
                .badParameter,
                "the option 'out' is not a file name",
                remedy: "give a name below the directory, of at most \(FileName.longest) bytes, without '..'"
            )
        }
        return text
    }

    /// The rule for the addresses of its servers, and of proxies that its options name.
    private static func addresses(
        _ reader: OptionReader,
        _ base: AddressRule?,
        hasProxy: Bool
    ) throws(ControlError) -> AddressRule? {
        guard let refused: AddressRule.Refused = try reader.choice(.deniedAddresses) else { return nil }
        var rule = base ?? AddressRule()
        rule.refused = refused
        rule.judgesProxies = hasProxy
        return refused == .none ? nil : rule
    }

    private static func digests(_ texts: [String]) throws(ControlError) -> [ExpectedDigest] {
        var digests: [ExpectedDigest] = []
        for text in texts where !text.isEmpty {
            do throws(SyntaxError) {
                digests.append(try ExpectedDigest(parsing: text, source: "the option 'checksum'"))
            } catch {
                throw ControlError(.badParameter, "the option 'checksum': \(error.message)")
            }
        }
        return digests
    }

    static func rule(_ reader: OptionReader) throws(ControlError) -> DownloadOptions.IfExists {
        let overwrites = try reader.flag(.allowOverwrite) ?? false
        let renames = try reader.flag(.autoFileRenaming) ?? true
        if let rule: DownloadOptions.IfExists = try reader.choice(.ifExists) { return rule }
        if overwrites { return .overwrite }
        return renames ? .auto : .fail
    }

    /// Whether the given name gets no number: with a rule that permits none, or without `auto-file-renaming`.
    private static func isExact(_ rule: DownloadOptions.IfExists, _ reader: OptionReader) throws(ControlError) -> Bool {
        switch rule {
        case .overwrite, .fail, .update: true
        case .rename: false
        case .auto, .skip, .resume: try reader.flag(.autoFileRenaming) == false
        }
    }

    private static func readContent(_ reader: OptionReader, _ request: inout DownloadRequest) throws(ControlError) {
        if let method = reader.options[.method], !method.isEmpty {
            guard method.utf8.count <= 32, method.utf8.allSatisfy({ Byte.isTokenCharacter($0) }), method != "CONNECT"
            else {
                throw reader.wrong(.method, "a method such as GET or POST")
            }
            request.method = method
        }
        if let body = reader.options[.body] {
            guard let bytes = Base64.decode(body.utf8) else { throw reader.wrong(.body, "Base64") }
            request.body = bytes
        }
        request.conditions = try reader.fields(.conditions)
    }

    private static func readFields(
        _ reader: OptionReader,
        _ base: [(String, String)],
        _ request: inout DownloadRequest
    ) throws(ControlError) {
        var own = try reader.fields(.header)
        func has(_ name: String) -> Bool { own.contains { $0.0.lowercased() == name } }
        if let referer = try reader.value(.referer), !has("referer") {
            own.append(("Referer", referer == "*" ? request.sources[0].withoutUserInfo : referer))
        }
        if try reader.flag(.httpNoCache) == true { own += HeaderLine.noCache(besides: own) }
        if let agent = try reader.value(.userAgent), !has("user-agent") { own.append(("User-Agent", agent)) }
        guard !own.isEmpty else {
            request.fields = base
            return
        }
        let names = Set(own.map { $0.0.lowercased() })
        request.fields = own + base.filter { !names.contains($0.0.lowercased()) }
    }

    static func readLimits(_ reader: OptionReader, _ own: inout DownloadOptions) throws(ControlError) {
        let split = try reader.count(.split)
        let perServer = try reader.count(.maxConnectionPerServer)
        if split != nil || perServer != nil {
            own.connections = .fixed(min(split ?? 16, perServer ?? 16, 64))
        }
        if let bytes = try reader.bytes(.minSplitSize) { own.minimumSplit = max(65_536, bytes) }
        if let rate = try reader.bytes(.maxDownloadLimit) { own.rateLimit = rate > 0 ? rate : nil }
        if let tries = try reader.count(.maxTries) {
            own.retries = tries == 0 ? 1_000_000 : tries - 1
            // A client that limits tries also counts those that fail in an outage.
            own.retriesIncludeOutages = tries > 0
        }
        if let wait = try reader.seconds(.retryWait) { own.retryWait = wait }
        if let timeout = try reader.seconds(.timeout) { own.stallTimeout = timeout }
        if let timeout = try reader.seconds(.connectTimeout), timeout > .zero {
            own.connectTimeout = timeout
        }
        if let text = reader.options[.lowestSpeedLimit], !text.isEmpty { own.speedFloor = try reader.speedFloor() }
        own.mayBeRepeated = try reader.flag(.mayBeRepeated) ?? own.mayBeRepeated
        if let timeout = try reader.seconds(.resourceTimeout) { own.totalTimeout = timeout }
        if let timeout = try reader.seconds(.outageTimeout) {
            own.outageTimeout = timeout > .zero ? timeout : nil
        }
    }
}
