// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// The network of a client, by which requests are limited: an IPv4 address, or the first 64 bits of an IPv6 address,
/// because one client usually has all addresses of such a network.
package struct ClientNetwork: Sendable, Hashable {
    private let bits: UInt64
    private let isV6: Bool

    /// Parses the address of a client; all texts that are not an address have the same network.
    ///
    /// An IPv4 address that is mapped to IPv6 has the network of the IPv4 address.
    ///
    /// - Source: inet_pton(3), RFC 4291 §2.5.5.2.
    package init(_ peer: String) {
        var (v4, v6) = (in_addr(), in6_addr())
        let bytes: [UInt8]
        if inet_pton(AF_INET, peer, &v4) == 1 {
            bytes = withUnsafeBytes(of: v4) { Array($0) }
        } else if inet_pton(AF_INET6, String(peer.prefix { $0 != "%" }), &v6) == 1 {
            let all = withUnsafeBytes(of: v6) { Array($0) }
            let isMapped = all.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
            bytes = isMapped ? Array(all[12...]) : Array(all[..<8])
        } else {
            bytes = []
        }
        self.bits = bytes.reduce(0) { $0 << 8 | UInt64($1) }
        self.isV6 = bytes.count == 8
    }
}
