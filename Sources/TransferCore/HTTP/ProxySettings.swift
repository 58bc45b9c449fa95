// SPDX-License-Identifier: Apache-2.0
/// The choice of a proxy for each request.
public struct ProxySettings: Hashable, Sendable {
    /// The rule for the targets of one scheme.
    public enum Rule: Hashable, Sendable {
        /// Without a proxy.
        case direct
        /// Through a proxy.
        case proxy(ProxyServer)
        /// The configured proxy is unusable: requests fail with this error, because no direct connection was requested.
        case unusable(SyntaxError)
    }

    /// The rule for `http` targets.
    public var http: Rule
    /// The rule for `https` targets.
    public var https: Rule
    /// The hosts that are contacted directly regardless of the rules.
    public var exceptions: ProxyExceptions

    /// No proxy.
    public static let none = ProxySettings(http: .direct, https: .direct)

    /// Creates settings from their parts.
    public init(http: Rule, https: Rule, exceptions: ProxyExceptions = ProxyExceptions()) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// Creates settings with one proxy for all targets except some.
    public init(_ proxy: ProxyServer, exceptions: ProxyExceptions = ProxyExceptions()) {
        self.init(http: .proxy(proxy), https: .proxy(proxy), exceptions: exceptions)
    }

    /// Reads the variables common to command line tools: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.
    ///
    /// All except `http_proxy` may also be in upper case; lower case takes precedence. In a CGI program `HTTP_PROXY` is
    /// a field of the request, which any client can set (CVE-2016-5385). An empty variable counts as missing.
    ///
    /// - Parameter variables: The environment.
    /// - Returns: The settings; requests that would use an unusable proxy of a variable fail.
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

    /// Whether no request uses a proxy.
    public var isDirect: Bool { self.http == .direct && self.https == .direct }

    /// The proxy for a URL, or `nil` for a direct connection.
    ///
    /// - Throws: ``SyntaxError`` if the configured proxy cannot be used.
    public func proxy(for url: HTTPURL) throws(SyntaxError) -> ProxyServer? {
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
