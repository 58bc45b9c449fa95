/// Which proxy a request goes through, if any.
public struct ProxySettings: Hashable, Sendable {
    /// What is said about the targets of one scheme.
    public enum Rule: Hashable, Sendable {
        /// Without a proxy.
        case direct
        /// Through a proxy.
        case proxy(ProxyServer)
        /// A proxy was asked for that cannot be used: a request fails with this, for going direct was not asked for.
        case unusable(ProxyError)
    }

    /// What is said about `http` targets.
    public var http: Rule
    /// What is said about `https` targets.
    public var https: Rule
    /// The hosts that go direct whatever the rules say.
    public var exceptions: ProxyExceptions

    /// Without any proxy.
    public static let none = ProxySettings(http: .direct, https: .direct)

    /// Creates settings from their parts.
    public init(http: Rule, https: Rule, exceptions: ProxyExceptions = ProxyExceptions()) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// Creates settings with one proxy for all targets but the exceptions.
    public init(_ proxy: ProxyServer, exceptions: ProxyExceptions = ProxyExceptions()) {
        self.init(http: .proxy(proxy), https: .proxy(proxy), exceptions: exceptions)
    }

    /// Reads the variables that command line tools share: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.
    ///
    /// All but `http_proxy` may be in upper case as well, and lower case wins: in a CGI program `HTTP_PROXY` is a field
    /// of the request, for anybody to set (CVE-2016-5385). An empty variable counts as missing.
    ///
    /// - Parameter variables: The environment.
    /// - Returns: The settings; a variable that names no usable proxy makes the requests fail that would use it.
    public static func fromEnvironment(_ variables: [String: String]) -> ProxySettings {
        let forAll = ["all_proxy", "ALL_PROXY"]
        return ProxySettings(
            http: self.rule(["http_proxy"] + forAll, variables),
            https: self.rule(["https_proxy", "HTTPS_PROXY"] + forAll, variables),
            exceptions: ProxyExceptions(self.first(["no_proxy", "NO_PROXY"], variables)?.value ?? "")
        )
    }

    private static func rule(_ names: [String], _ variables: [String: String]) -> Rule {
        guard let (name, value) = self.first(names, variables) else { return .direct }
        do {
            return .proxy(try ProxyServer(value, from: name))
        } catch {
            return .unusable(error)
        }
    }

    private static func first(_ names: [String], _ variables: [String: String]) -> (name: String, value: String)? {
        for name in names {
            if let value = variables[name], !value.isEmpty { return (name, value) }
        }
        return nil
    }

    /// Whether every request goes direct.
    public var isDirect: Bool { self.http == .direct && self.https == .direct }

    /// The proxy for a URL, or `nil` where it goes direct.
    ///
    /// - Throws: ``ProxyError`` where the proxy that was asked for cannot be used.
    public func proxy(for url: HTTPURL) throws(ProxyError) -> ProxyServer? {
        let rule = url.scheme == .http ? self.http : self.https
        if case .direct = rule { return nil }
        guard !self.exceptions.cover(host: url.host, port: url.port) else { return nil }
        switch rule {
        case .direct: return nil
        case .proxy(let proxy): return proxy
        case .unusable(let error): throw error
        }
    }
}
