// SPDX-License-Identifier: Apache-2.0
internal import Foundation
internal import Martlet

/// The dictionary of ``URLSessionConfiguration/connectionProxyDictionary``.
///
/// The keys are the values of CFNetwork's constants, for example `kCFNetworkProxiesHTTPProxy`, which Linux does not have.
///
/// - Source: Apple, "Global Proxy Settings Constants" and "CFProxySupport" of CFNetwork.
struct ProxyDictionary {
    private var values: [String: Any] = [:]

    /// Reads the keys.
    ///
    /// - Throws: `TransferError` with `badConfiguration` for a key that is not known, or has no effect here.
    init(_ dictionary: [AnyHashable: Any]) throws {
        for (key, value) in dictionary {
            guard let name = key.base as? String, Self.known.contains(name) else {
                throw Self.error(
                    "the key '\(key.base)' of connectionProxyDictionary is not known",
                    "use \(Self.known.sorted().joined(separator: ", "))"
                )
            }
            self.values[name] = value
        }
        for name in Self.unsupported where try self.isOn(name) {
            throw Self.error(
                "\(name) of connectionProxyDictionary is not supported",
                "set HTTPProxy and HTTPSProxy to an http proxy, and ExceptionsList to the hosts without one"
            )
        }
    }

    /// The proxies by scheme; a scheme that is not enabled has none.
    func settings() throws -> ProxySettings {
        ProxySettings(
            http: try self.rule("HTTP"),
            https: try self.rule("HTTPS"),
            exceptions: try self.exceptions()
        )
    }

    private func rule(_ scheme: String) throws -> ProxySettings.Rule {
        guard try self.isOn(scheme + "Enable") else { return .direct }
        guard let host = self.values[scheme + "Proxy"] as? String, !host.isEmpty else {
            throw Self.error(
                "\(scheme)Enable of connectionProxyDictionary is set, and \(scheme)Proxy is not a host",
                "set \(scheme)Proxy to the proxy's host"
            )
        }
        let port: Int
        switch self.values[scheme + "Port"] {
        case nil: port = 80
        case let value?:
            guard let number = Self.number(value), (1...65_535).contains(number) else {
                throw Self.error(
                    "\(scheme)Port of connectionProxyDictionary is '\(value)'",
                    "set it to a number from 1 to 65535"
                )
            }
            port = number
        }
        let user = try self.text("kCFProxyUsernameKey")
        if let user, user.contains(":") {
            throw Self.error("the user name of connectionProxyDictionary contains a colon", "use another user name")
        }
        let shown = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        do {
            let origin = try ProxyServer("http://\(shown):\(port)", from: "\(scheme)Proxy").origin
            return .proxy(ProxyServer(origin: origin, user: user, password: try self.text("kCFProxyPasswordKey")))
        } catch let error as SyntaxError {
            throw TransferError(.badConfiguration, error.message)
        }
    }

    private func exceptions() throws -> ProxyExceptions {
        guard let value = self.values["ExceptionsList"] else { return ProxyExceptions() }
        guard let hosts = value as? [String] else {
            throw Self.error("ExceptionsList of connectionProxyDictionary is not a list of texts", "use [String]")
        }
        let text = hosts.joined(separator: ",")
        if let entry = ProxyExceptions.invalidEntry(of: text) {
            throw Self.error(
                "'\(entry)' in ExceptionsList of connectionProxyDictionary matches nothing",
                "use a name, *.name, an address or a network such as 10.0.0.0/8"
            )
        }
        return ProxyExceptions(text)
    }

    private func text(_ name: String) throws -> String? {
        guard let value = self.values[name] else { return nil }
        guard let text = value as? String else {
            throw Self.error("\(name) of connectionProxyDictionary is not a text", "use a String")
        }
        return text
    }

    private func isOn(_ name: String) throws -> Bool {
        guard let value = self.values[name] else { return false }
        if let flag = value as? Bool { return flag }
        guard let number = Self.number(value) else {
            throw Self.error("\(name) of connectionProxyDictionary is '\(value)'", "use true or false")
        }
        return number != 0
    }

    private static func number(_ value: Any) -> Int? {
        (value as? Int) ?? (value as? NSNumber)?.intValue ?? (value as? String).flatMap { Int($0) }
    }

    private static func error(_ message: String, _ remedy: String) -> TransferError {
        TransferError(.badConfiguration, message, remedy: remedy)
    }

    private static let unsupported = [
        "SOCKSEnable", "ProxyAutoConfigEnable", "ProxyAutoDiscoveryEnable", "ExcludeSimpleHostnames",
    ]

    private static let known = Set(
        unsupported + [
            "HTTPEnable", "HTTPProxy", "HTTPPort", "HTTPSEnable", "HTTPSProxy", "HTTPSPort", "ExceptionsList",
            "kCFProxyUsernameKey", "kCFProxyPasswordKey", "SOCKSProxy", "SOCKSPort", "ProxyAutoConfigURLString",
        ]
    )
}
