internal import Control
internal import TransferCore
internal import TransferEngine

/// What a transfer's options mean: the engine's request, and what the engine takes from elsewhere.
struct RequestPlan {
    /// The request, without policy and user information; of an upload what it has in common with downloads.
    var request: DownloadRequest
    /// The request of an upload, likewise.
    var upload: UploadRequest?
    /// The proxies it has for itself, or `nil` for its lane's.
    var proxy: ProxySettings?
    /// The name and the password for its servers.
    var credential: Credential?
    /// A cookie file.
    var cookieFile: String?
    /// Whether an existing file's time makes the request conditional.
    var isConditional = false
    /// Below that many bytes a second it fails.
    var lowestSpeed: Int64?
}

extension RequestPlan {
    /// The options that take effect while a transfer runs, or change nothing about its request.
    static let liveOptions: Set<OptionName> = [
        .maxDownloadLimit, .maxUploadLimit, .priority, .description, .userInfo, .lowestSpeedLimit,
    ]

    /// Reads what a transfer is to be.
    ///
    /// - Parameters:
    ///   - urls: Its URLs.
    ///   - upload: What it sends, where it is an upload.
    ///   - options: Its options, those that hold for all included.
    ///   - directory: Where its file goes.
    ///   - base: What its lane says about downloads.
    ///   - baseFields: The fields of requests that have none of their own of those names.
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
        var request = DownloadRequest(try Self.sources(urls), options: base)
        request.directory = directory
        request.name = try Self.name(options[.out])
        request.expected = try Self.digests(options[all: .checksum])
        request.options.durable = true
        request.options.keepBad = false
        request.options.ifExists = try Self.rule(reader)
        request.nameIsExact =
            request.name != nil
            && (request.options.ifExists == .overwrite || request.options.ifExists == .fail)
        try Self.readContent(reader, &request)
        try Self.readFields(reader, baseFields, &request)
        try Self.readLimits(reader, &request)
        self.init(request: request)
        self.proxy = try Self.proxy(options)
        if let user = options[.httpUser], !user.isEmpty {
            self.credential = .password(user: user, password: options[.httpPassword] ?? "")
        }
        self.cookieFile = options[.loadCookies].flatMap { $0.isEmpty ? nil : $0 }
        self.isConditional = try reader.flag(.conditionalGet) ?? false
        self.lowestSpeed = try reader.limit(.lowestSpeedLimit)
        _ = try reader.flag(.continue)
        if let text = options[.userInfo], (try? JSON(parsing: text)) == nil {
            throw reader.wrong(.userInfo, "a JSON text")
        }
        if let upload { self.upload = try Self.upload(upload, request, reader) }
    }

    /// The priority that options name.
    static func priority(_ options: TransferOptions) throws(ControlError) -> Int {
        try OptionReader(options: options).count(.priority, -1_000_000...1_000_000) ?? 0
    }

    private static func sources(_ urls: [String]) throws(ControlError) -> [HTTPURL] {
        guard !urls.isEmpty else { throw ControlError(.badParameter, "there is no URL", remedy: "give at least one") }
        var sources: [HTTPURL] = []
        for text in urls {
            do throws(HTTPURLError) {
                sources.append(try HTTPURL(text))
            } catch {
                throw ControlError(.badParameter, error.message)
            }
        }
        return sources
    }

    /// A name below the directory: nobody leaves it by a name.
    private static func name(_ text: String?) throws(ControlError) -> String? {
        guard let text, !text.isEmpty else { return nil }
        let parts = text.split(separator: "/", omittingEmptySubsequences: true)
        guard !text.hasPrefix("/"), !text.hasSuffix("/"), !parts.isEmpty,
            parts.allSatisfy({ $0 != "." && $0 != ".." && $0.utf8.count <= FileName.longest }),
            text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else {
            throw ControlError(
                .badParameter,
                "the option 'out' is no file name",
                remedy: "give a name below the directory, of at most \(FileName.longest) bytes, without '..'"
            )
        }
        return text
    }

    private static func digests(_ texts: [String]) throws(ControlError) -> [ExpectedDigest] {
        var digests: [ExpectedDigest] = []
        for text in texts where !text.isEmpty {
            do throws(DigestSyntaxError) {
                digests.append(try ExpectedDigest(parsing: text, source: "the option 'checksum'"))
            } catch {
                throw ControlError(.badParameter, "the option 'checksum': \(error.message)")
            }
        }
        return digests
    }

    private static func rule(_ reader: OptionReader) throws(ControlError) -> DownloadOptions.IfExists {
        let overwrites = try reader.flag(.allowOverwrite) ?? false
        let renames = try reader.flag(.autoFileRenaming) ?? true
        if let text = reader.options[.ifExists], !text.isEmpty {
            guard let rule = DownloadOptions.IfExists(rawValue: text) else {
                throw reader.wrong(.ifExists, "auto, skip, resume, rename, overwrite or fail")
            }
            return rule
        }
        if overwrites { return .overwrite }
        return renames ? .auto : .fail
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
        if let referer = try reader.value(.referer), !has("referer") { own.append(("Referer", referer)) }
        if let agent = try reader.value(.userAgent), !has("user-agent") { own.append(("User-Agent", agent)) }
        guard !own.isEmpty else {
            request.fields = base
            return
        }
        let names = Set(own.map { $0.0.lowercased() })
        request.fields = own + base.filter { !names.contains($0.0.lowercased()) }
    }

    private static func readLimits(_ reader: OptionReader, _ request: inout DownloadRequest) throws(ControlError) {
        let split = try reader.count(.split, 1...256)
        let perServer = try reader.count(.maxConnectionPerServer, 1...256)
        if split != nil || perServer != nil {
            request.options.connections = .fixed(min(split ?? 16, perServer ?? 16, 64))
        }
        if let bytes = try reader.bytes(.minSplitSize) { request.options.minimumSplit = max(65_536, bytes) }
        if let rate = try reader.bytes(.maxDownloadLimit) { request.options.rateLimit = rate > 0 ? rate : nil }
        if let tries = try reader.count(.maxTries, 0...1_000_000) {
            request.options.retries = tries == 0 ? 1_000_000 : tries - 1
            // A client that counts tries counts those that fail in an outage too.
            request.options.retriesIncludeOutages = tries > 0
        }
        if let wait = try reader.seconds(.retryWait) { request.options.retryWait = wait }
        if let timeout = try reader.seconds(.timeout) { request.options.stallTimeout = timeout }
        if let timeout = try reader.seconds(.connectTimeout), timeout > .zero {
            request.options.connectTimeout = timeout
        }
        if let timeout = try reader.seconds(.resourceTimeout) { request.options.totalTimeout = timeout }
        if let timeout = try reader.seconds(.outageTimeout) {
            request.options.outageTimeout = timeout > .zero ? timeout : nil
        }
    }

    private static func proxy(_ options: TransferOptions) throws(ControlError) -> ProxySettings? {
        guard !options.isEmpty else { return nil }
        var variables: [String: String] = [:]
        for (name, variable) in [
            (OptionName.allProxy, "all_proxy"), (.httpProxy, "http_proxy"), (.httpsProxy, "https_proxy"),
        ] {
            guard let text = options[name], !text.isEmpty else { continue }
            do throws(ProxyError) {
                _ = try ProxyServer(text, from: "the option '\(name.rawValue)'")
            } catch {
                throw ControlError(.badParameter, error.message)
            }
            variables[variable] = text
        }
        if let text = options[.noProxy], !text.isEmpty { variables["no_proxy"] = text }
        let isGiven = [OptionName.allProxy, .httpProxy, .httpsProxy].contains { options[$0] != nil }
        return isGiven ? .fromEnvironment(variables) : nil
    }
}
