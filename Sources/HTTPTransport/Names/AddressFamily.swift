// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// A family of addresses.
package enum AddressFamily: String, Sendable, Hashable {
    case ipv4 = "IPv4"
    case ipv6 = "IPv6"

    func contains(_ address: SocketAddress) -> Bool {
        address.protocol == (self == .ipv4 ? .inet : .inet6)
    }
}
