// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The network of a client, by which requests are limited: an IPv4 address, or the first 64 bits of an IPv6 address,
/// because one client usually has all addresses of such a network.
package struct ClientNetwork: Sendable, Hashable {
    private let bits: UInt64
    private let isV6: Bool

    /// Parses the address of a client; all other texts have the same network.
    ///
    /// An IPv4 address that is mapped to IPv6 has the network of the IPv4 address.
    package init(_ peer: String) {
        let bytes = NetworkAddress(peer.utf8.prefix { $0 != 0x25 })?.bytes.prefix(8) ?? []
        self.bits = bytes.reduce(0) { $0 << 8 | UInt64($1) }
        self.isV6 = bytes.count == 8
    }
}
