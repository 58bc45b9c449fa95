// SPDX-License-Identifier: Apache-2.0
import Platform

/// The addresses by which other machines reach this one.
enum LocalAddress {
    /// The host for links to a listen address; a wildcard is replaced by an address of this machine.
    ///
    /// - Source: getifaddrs(3).
    static func reachable(for host: String) -> String {
        guard host == "::" || host == "0.0.0.0" else { return host }
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return host }
        defer { freeifaddrs(first) }
        var addresses: [String] = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard entry.ifa_flags & UInt32(IFF_UP) != 0, entry.ifa_flags & UInt32(IFF_LOOPBACK) == 0,
                let address = entry.ifa_addr, let text = self.text(address)
            else { continue }
            addresses.append(text)
        }
        // More clients can reach IPv4; the IPv6 wildcard accepts both.
        return addresses.first { !$0.contains(":") } ?? (host == "::" ? addresses.first : nil) ?? host
    }

    /// The numeric address; `nil` for another address family or a link-local address.
    private static func text(_ address: UnsafeMutablePointer<sockaddr>) -> String? {
        let size: Int
        switch Int32(address.pointee.sa_family) {
        case AF_INET: size = MemoryLayout<sockaddr_in>.size
        case AF_INET6: size = MemoryLayout<sockaddr_in6>.size
        default: return nil
        }
        var name = [CChar](repeating: 0, count: 1025)
        guard getnameinfo(address, socklen_t(size), &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0 else {
            return nil
        }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.contains("%") || text.hasPrefix("fe80:") ? nil : text
    }
}
