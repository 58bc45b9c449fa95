// SPDX-License-Identifier: Apache-2.0
/// A proxy through which requests are sent, with its credentials if it requires any.
///
/// - Source: RFC 9110 §3.7, §11.7; RFC 7617 (Basic).
public struct ProxyServer: Hashable, Sendable, CustomStringConvertible {
    /// The address of the proxy, and whether it uses TLS.
    public let origin: Origin

    /// The value of the `Proxy-Authorization` field, or `nil` without credentials; must not appear in messages.
    public let authorization: String?

    /// Creates a proxy.
    ///
    /// - Parameters:
    ///   - origin: The address of the proxy, and whether it uses TLS.
    ///   - user: The user name, without a colon, or `nil`.
    ///   - password: The password of the user.
    public init(origin: Origin, user: String? = nil, password: String? = nil) {
        self.origin = origin
        self.authorization = user.map { "Basic " + Base64.encode("\($0):\(password ?? "")".utf8) }
    }

    /// Creates a proxy from the value of its `Proxy-Authorization` field.
    package init(origin: Origin, authorization: String?) {
        self.origin = origin
        self.authorization = authorization
    }

    /// Parses `http://user:password@host:port` or `https://…`; the default scheme is `http`.
    ///
    /// The default port is the scheme's, 80 or 443; user name and password are percent-decoded.
    ///
    /// - Parameters:
    ///   - text: The URL.
    ///   - name: The source of the text, such as an option or a variable, for the message.
    /// - Throws: ``SyntaxError`` with a message that contains nothing of the text.
    public init(_ text: String, from name: String = "the proxy") throws(SyntaxError) {
        let utf8 = Array(text.utf8)
        let colon = utf8.indices.dropLast(2).first { utf8[$0...].starts(with: "://".utf8) }
        let authority = utf8[(colon.map { $0 + 3 } ?? 0)...]
        if let end = authority.firstIndex(where: { [0x2F, 0x3F, 0x23, 0x5C].contains($0) }),
            authority[end...].contains(0x40)
        {
            throw SyntaxError(
                "\(name): an @ after the host; write / ? # and \\ in a user name or a password as %2F, %3F, %23 and %5C"
            )
        }
        let url: HTTPURL
        do {
            url = try HTTPURL(colon == nil ? "http://" + text : text)
        } catch {
            throw Self.error(error.code, name)
        }
        if let user = url.user, user.utf8.contains(0x3A) {
            throw SyntaxError("\(name): the user name contains a colon, which Basic forbids; use another")
        }
        self.init(origin: url.origin, user: url.user, password: url.password)
    }

    private static func error(_ code: SyntaxError.Code, _ name: String) -> SyntaxError {
        switch code {
        case .unsupportedScheme(let scheme) where scheme.hasPrefix("socks"):
            SyntaxError(
                .unsupportedScheme(scheme),
                "\(name) names a SOCKS proxy (\(scheme)), which is not supported: use an http:// or https:// proxy"
            )
        case .unsupportedScheme(let scheme):
            SyntaxError(
                .unsupportedScheme(scheme),
                "\(name): proxies of the scheme \(scheme) are not supported: use an http:// or https:// proxy"
            )
        case .badPort:
            SyntaxError(code, "\(name): the proxy's port is not a number from 1 to 65535; correct it")
        case .missingHost, .empty, .missingScheme:
            SyntaxError(code, "\(name): no host; write http://proxy.example.com:3128")
        case .badHost:
            SyntaxError(code, "\(name): the proxy's host is malformed; write http://proxy.example.com:3128")
        default:
            SyntaxError(code, "\(name): a character that is invalid in a URL; write it as %XX")
        }
    }

    /// The proxy's URL without its credentials.
    public var description: String {
        let host = self.origin.host.contains(":") ? "[\(self.origin.host)]" : self.origin.host
        return "\(self.origin.scheme.name)://\(host):\(self.origin.port)"
    }
}
