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
        .object(ConfigurationMember.all.map { .init($0.name, $0.write(self)) })
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
        for member in ConfigurationMember.all { try member.read(fields, &self) }
    }
}

/// A member of the object: its name, and both directions of its value.
private struct ConfigurationMember: Sendable {
    /// The path of a property.
    typealias Path<Value> = any (WritableKeyPath<SessionConfiguration, Value> & Sendable)

    let name: String
    let write: @Sendable (SessionConfiguration) -> JSON
    /// Sets the property; leaves the default if the member is missing.
    let read: @Sendable (ConfigurationFields, inout SessionConfiguration) throws(TransferError) -> Void

    private init(
        _ name: String,
        _ write: @escaping @Sendable (SessionConfiguration) -> JSON,
        _ read: @escaping @Sendable (ConfigurationFields, inout SessionConfiguration) throws(TransferError) -> Void
    ) {
        self.name = name
        self.write = write
        self.read = read
    }

    static let all = [
        headers, cookies, cookieAcceptance,
        value(
            "credentials",
            \.credentials,
            write: \.json,
            read: { json throws(TransferError) in try Credentials(json: json) }
        ),
        count("concurrentTransfers", \.concurrentTransfers), connectionsPerHost,
        count("connectionsPerDownload", \.connectionsPerDownload), rateLimit,
        duration("connectTimeout", \.connectTimeout), duration("requestTimeout", \.requestTimeout),
        duration("resourceTimeout", \.resourceTimeout), outageTimeout, count("retries", \.retries.attempts),
        retryStatuses,
        value("tls", \.tls, write: \.json, read: { json throws(TransferError) in try TLSOptions(json: json) }), proxy,
        count("maximumRedirects", \.maximumRedirects), flag("allowsDowngrade", \.allowsDowngrade),
        flag("allowsExpensiveNetwork", \.allowsExpensiveNetwork),
        value(
            "discretion",
            \.discretion,
            write: { $0?.json ?? .null },
            read: { json throws(TransferError) in try Discretion(json: json) }
        ),
        flag("durable", \.isDurable), wakeCommand, notifications,
    ]

    // MARK: Forms

    private static func count(_ name: String, _ path: Path<Int>) -> Self {
        Self(name) {
            .integer(Int64($0[keyPath: path]))
        } _: { (fields, configuration) throws(TransferError) in
            if let value = try fields.count(name) { configuration[keyPath: path] = value }
        }
    }

    private static func flag(_ name: String, _ path: Path<Bool>) -> Self {
        Self(name) {
            .bool($0[keyPath: path])
        } _: { (fields, configuration) throws(TransferError) in
            if let value = try fields.bool(name) { configuration[keyPath: path] = value }
        }
    }

    private static func duration(_ name: String, _ path: Path<Duration>) -> Self {
        Self(name) {
            .number($0[keyPath: path].inSeconds)
        } _: { (fields, configuration) throws(TransferError) in
            if let value = try fields.duration(name) { configuration[keyPath: path] = value }
        }
    }

    private static func value<Value>(
        _ name: String,
        _ path: Path<Value>,
        write: @escaping @Sendable (Value) -> JSON,
        read: @escaping @Sendable (JSON) throws(TransferError) -> Value
    ) -> Self {
        Self(name) {
            write($0[keyPath: path])
        } _: { (fields, configuration) throws(TransferError) in
            if let json = fields.member(name) { configuration[keyPath: path] = try read(json) }
        }
    }

    // MARK: Members of their own form

    private static let headers = Self("headers") {
        .array($0.headers.map { [.string($0.name), .string($0.value)] })
    } _: { (fields, configuration) throws(TransferError) in
        for pair in try fields.array("headers") ?? [] {
            guard let name = pair[0]?.string, let value = pair[1]?.string else { throw fields.wrong("headers") }
            configuration.headers.append(name, value)
        }
    }

    private static let cookies = Self("cookies") {
        $0.cookies.map { .array($0.cookies.map(\.json)) } ?? .null
    } _: { (fields, configuration) throws(TransferError) in
        configuration.cookies = nil
        guard let cookies = try fields.array("cookies") else { return }
        let storage = CookieStorage()
        for cookie in cookies { storage.set(try Cookie(json: cookie)) }
        configuration.cookies = storage
    }

    private static let cookieAcceptance = Self("cookieAcceptance") {
        .string($0.cookieAcceptance.name)
    } _: { (fields, configuration) throws(TransferError) in
        guard let name = try fields.string("cookieAcceptance") else { return }
        guard let acceptance = SessionConfiguration.CookieAcceptance(name: name) else {
            throw fields.wrong("cookieAcceptance")
        }
        configuration.cookieAcceptance = acceptance
    }

    private static let connectionsPerHost = Self("connectionsPerHost") {
        .optional($0.connectionsPerHost.map { Int64($0) })
    } _: { (fields, configuration) throws(TransferError) in
        configuration.connectionsPerHost = try fields.count("connectionsPerHost")
    }

    private static let rateLimit = Self("rateLimit") {
        .optional($0.rateLimit)
    } _: { (fields, configuration) throws(TransferError) in
        configuration.rateLimit = try fields.integer("rateLimit")
    }

    private static let outageTimeout = Self("outageTimeout") {
        $0.outageTimeout.map { .number($0.inSeconds) } ?? .null
    } _: { (fields, configuration) throws(TransferError) in
        configuration.outageTimeout = try fields.duration("outageTimeout")
    }

    private static let retryStatuses = Self("retryStatuses") {
        .array($0.retries.statuses.sorted().map { .integer(Int64($0)) })
    } _: { (fields, configuration) throws(TransferError) in
        guard let statuses = try fields.array("retryStatuses") else { return }
        configuration.retries.statuses = Set(statuses.compactMap(\.integer).map { Int(clamping: $0) })
    }

    private static let proxy = Self("proxy") {
        $0.proxy.json
    } _: { (fields, configuration) throws(TransferError) in
        configuration.proxy = try SessionConfiguration.ProxyChoice(json: fields.member("proxy") ?? .null)
    }

    private static let wakeCommand = Self("wakeCommand") {
        .array($0.wakeCommand.map { .string($0) })
    } _: { (fields, configuration) throws(TransferError) in
        configuration.wakeCommand = try fields.strings("wakeCommand") ?? []
    }

    private static let notifications = Self("notifications") { configuration in
        .array(TransferNotification.allCases.filter(configuration.notifications.contains).map { .string($0.word) })
    } _: { (fields, configuration) throws(TransferError) in
        // The events of a newer version are not known here.
        let words = try fields.strings("notifications")
        configuration.notifications = Set(words?.compactMap { TransferNotification(word: $0) } ?? [])
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

    /// The value of a member; `nil` if it is missing or null.
    func member(_ name: String) -> JSON? { self.json[name].flatMap { $0.isNull ? nil : $0 } }

    private func value<Value>(_ name: String, _ read: (JSON) -> Value?) throws(TransferError) -> Value? {
        guard let json = self.member(name) else { return nil }
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
