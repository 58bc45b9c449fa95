// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore

/// Proxies in options.
extension RequestPlan {
    /// A proxy's option, and those of its user name and password.
    private static let names: [(proxy: OptionName, user: OptionName, password: OptionName)] = [
        (.allProxy, .allProxyUser, .allProxyPassword), (.httpProxy, .httpProxyUser, .httpProxyPassword),
        (.httpsProxy, .httpsProxyUser, .httpsProxyPassword),
    ]

    /// Returns the proxies that the options name, or `nil` if they name none.
    ///
    /// The options of a user name and a password replace those in the proxy's URL, as in aria2.
    ///
    /// - Throws: `badParameter` that names the option.
    static func proxy(_ options: TransferOptions) throws(ControlError) -> ProxySettings? {
        guard Self.names.contains(where: { options[$0.proxy] != nil }) else { return nil }
        var rules: [OptionName: ProxySettings.Rule] = [:]
        for name in Self.names {
            guard let text = options[name.proxy], !text.isEmpty else { continue }
            do throws(SyntaxError) {
                let proxy = try ProxyServer(text, from: "the option '\(name.proxy.rawValue)'")
                rules[name.proxy] = .proxy(try Self.proxy(proxy, options[name.user], options[name.password], name.user))
            } catch {
                throw ControlError(.badParameter, error.message)
            }
        }
        let all = rules[.allProxy] ?? .direct
        return ProxySettings(
            http: rules[.httpProxy] ?? all,
            https: rules[.httpsProxy] ?? all,
            exceptions: ProxyExceptions(options[.noProxy] ?? "")
        )
    }

    private static func proxy(
        _ proxy: ProxyServer,
        _ user: String?,
        _ password: String?,
        _ name: OptionName
    ) throws(SyntaxError) -> ProxyServer {
        guard let user, !user.isEmpty else { return proxy }
        guard !user.utf8.contains(0x3A) else {
            throw SyntaxError(
                "the option '\(name.rawValue)' contains a colon, which Basic authentication does not allow; remove it"
            )
        }
        return ProxyServer(origin: proxy.origin, user: user, password: password ?? "")
    }
}
