// SPDX-License-Identifier: Apache-2.0
internal import Platform
public import TransferCore

extension ProxySettings {
    /// The proxies that this process's environment names; see ``fromEnvironment(_:)``.
    public static func fromProcess() -> ProxySettings {
        var variables: [String: String] = [:]
        for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"] {
            if let value = getenv(name) { variables[name] = String(cString: value) }
        }
        return .fromEnvironment(variables)
    }
}
