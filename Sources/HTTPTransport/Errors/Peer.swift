// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The server or proxy that an error message names.
struct Peer: Sendable {
    let origin: Origin
    let isProxy: Bool

    init(_ origin: Origin) {
        self.origin = origin
        self.isProxy = false
    }

    init(_ proxy: ProxyServer) {
        self.origin = proxy.origin
        self.isProxy = true
    }

    /// The host and the port for a message, with an IPv6 address in brackets.
    var place: String {
        let host = self.origin.host.contains(":") ? "[\(self.origin.host)]" : self.origin.host
        return "\(self.isProxy ? "the proxy " : "")\(host):\(self.origin.port)"
    }

    /// The host for a message about its name.
    var nameOfHost: String { "the \(self.isProxy ? "proxy's name" : "name") \(self.origin.host)" }
}
