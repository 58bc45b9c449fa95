// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// A background session's configuration in the daemon's format; see "configuration" in Docs/rpc.md.
///
/// Parts that concern only the program are not encoded: conditions, logger, metrics, contexts and the directory. A
/// session that is encoded has neither transport nor cache.
extension SessionConfiguration {
    /// The configuration as an object.
    ///
    /// It contains cookies and credentials and must be sent only to the daemon. Proxies of the environment are resolved
    /// and paths made absolute, because the daemon has a different environment and working directory.
    package var json: JSON {
        .object([
            .init("headers", .array(self.headers.map { [.string($0.name), .string($0.value)] })),
            .init("cookies", self.cookies.map { .array($0.cookies.map(\.json)) } ?? .null),
            .init("cookieAcceptance", .string(self.cookieAcceptance.name)),
            .init("credentials", self.credentials.json),
            .init("concurrentTransfers", .integer(Int64(self.concurrentTransfers))),
            .init("connectionsPerHost", .optional(self.connectionsPerHost.map { Int64($0) })),
            .init("connectionsPerDownload", .integer(Int64(self.connectionsPerDownload))),
            .init("rateLimit", .optional(self.rateLimit)),
            .init("connectTimeout", .number(self.connectTimeout.inSeconds)),
            .init("requestTimeout", .number(self.requestTimeout.inSeconds)),
            .init("resourceTimeout", .number(self.resourceTimeout.inSeconds)),
            .init("outageTimeout", self.outageTimeout.map { .number($0.inSeconds) } ?? .null),
            .init("retries", .integer(Int64(self.retries.attempts))),
            .init("retryStatuses", .array(self.retries.statuses.sorted().map { .integer(Int64($0)) })),
            .init("tls", self.tls.json),
            .init("proxy", self.proxy.json),
            .init("maximumRedirects", .integer(Int64(self.maximumRedirects))),
            .init("allowsDowngrade", .bool(self.allowsDowngrade)),
            .init("allowsExpensiveNetwork", .bool(self.allowsExpensiveNetwork)),
            .init("discretion", self.discretion?.json ?? .null),
            .init("durable", .bool(self.isDurable)),
            .init("wakeCommand", .array(self.wakeCommand.map { .string($0) })),
            .init(
                "notifications",
                .array(TransferNotification.allCases.filter(self.notifications.contains).map { .string($0.word) })
            ),
        ])
    }

    /// Reads the format of ``json``.
    ///
    /// A missing member has its default value, except cookies and proxies, which are then disabled.
    ///
    /// - Throws: ``TransferError`` with `badConfiguration` that names the member.
    package init(json: JSON) throws(TransferError) {
        guard json.object != nil else { throw TransferError(.badConfiguration, "the configuration is not an object") }
        let fields = ConfigurationFields(json)
        self.init()
        for pair in try fields.array("headers") ?? [] {
            guard let name = pair[0]?.string, let value = pair[1]?.string else { throw fields.wrong("headers") }
            self.headers.append(name, value)
        }
        if let cookies = try fields.array("cookies") {
            let storage = CookieStorage()
            for cookie in cookies { storage.set(try Cookie(json: cookie)) }
            self.cookies = storage
        }
        if let name = try fields.string("cookieAcceptance") {
            guard let acceptance = SessionConfiguration.CookieAcceptance(name: name) else {
                throw fields.wrong("cookieAcceptance")
            }
            self.cookieAcceptance = acceptance
        }
        if let credentials = json["credentials"], !credentials.isNull {
            self.credentials = try Credentials(json: credentials)
        }
        try self.readLimits(fields)
        if let tls = json["tls"], !tls.isNull { self.tls = try TLSOptions(json: tls) }
        self.proxy = try SessionConfiguration.ProxyChoice(json: json["proxy"] ?? .null)
        if let discretion = json["discretion"], !discretion.isNull {
            self.discretion = try Discretion(json: discretion)
        }
        self.isDurable = try fields.bool("durable") ?? self.isDurable
        self.wakeCommand = try fields.strings("wakeCommand") ?? []
        // The events of a newer version are not known here.
        self.notifications = Set(
            try fields.strings("notifications")?.compactMap { TransferNotification(word: $0) } ?? []
        )
    }

    private mutating func readLimits(_ fields: ConfigurationFields) throws(TransferError) {
        self.concurrentTransfers = try fields.count("concurrentTransfers") ?? self.concurrentTransfers
        self.connectionsPerHost = try fields.count("connectionsPerHost")
        self.connectionsPerDownload = try fields.count("connectionsPerDownload") ?? self.connectionsPerDownload
        self.rateLimit = try fields.integer("rateLimit")
        self.connectTimeout = try fields.duration("connectTimeout") ?? self.connectTimeout
        self.requestTimeout = try fields.duration("requestTimeout") ?? self.requestTimeout
        self.resourceTimeout = try fields.duration("resourceTimeout") ?? self.resourceTimeout
        self.outageTimeout = try fields.duration("outageTimeout")
        self.retries.attempts = try fields.count("retries") ?? self.retries.attempts
        if let statuses = try fields.array("retryStatuses") {
            self.retries.statuses = Set(statuses.compactMap(\.integer).map { Int(clamping: $0) })
        }
        self.maximumRedirects = try fields.count("maximumRedirects") ?? self.maximumRedirects
        self.allowsDowngrade = try fields.bool("allowsDowngrade") ?? self.allowsDowngrade
        self.allowsExpensiveNetwork = try fields.bool("allowsExpensiveNetwork") ?? self.allowsExpensiveNetwork
    }
}

extension Duration {
    /// The duration in seconds.
    var inSeconds: Double {
        Double(self.components.seconds) + Double(self.components.attoseconds) / 1_000_000_000_000_000_000
    }
}

/// Reads an object's members and makes errors for invalid ones.
struct ConfigurationFields {
    private let json: JSON

    init(_ json: JSON) { self.json = json }

    func wrong(_ name: String) -> TransferError {
        TransferError(.badConfiguration, "the configuration's '\(name)' has an invalid value")
    }

    private func value<Value>(_ name: String, _ read: (JSON) -> Value?) throws(TransferError) -> Value? {
        guard let json = self.json[name], !json.isNull else { return nil }
        guard let value = read(json) else { throw self.wrong(name) }
        return value
    }

    func string(_ name: String) throws(TransferError) -> String? { try self.value(name, \.string) }
    func bool(_ name: String) throws(TransferError) -> Bool? { try self.value(name, \.bool) }
    func array(_ name: String) throws(TransferError) -> [JSON]? { try self.value(name, \.array) }

    func integer(_ name: String) throws(TransferError) -> Int64? {
        try self.value(name) { json in json.integer.flatMap { $0 >= 0 ? $0 : nil } }
    }

    func count(_ name: String) throws(TransferError) -> Int? { try self.integer(name).map { Int(clamping: $0) } }

    func strings(_ name: String) throws(TransferError) -> [String]? {
        try self.value(name) { json in
            guard let array = json.array else { return nil }
            let strings = array.compactMap(\.string)
            return strings.count == array.count ? strings : nil
        }
    }

    /// A duration in seconds, from 0 to a century.
    func duration(_ name: String) throws(TransferError) -> Duration? {
        try self.value(name) { json in
            json.double.flatMap { $0 >= 0 && $0 <= 3_155_760_000 ? Duration.seconds($0) : nil }
        }
    }
}
