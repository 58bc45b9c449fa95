// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The addresses of the proxies whose reports about clients are believed.
package struct TrustedProxies: Sendable, Hashable {
    private var networks = ProxyExceptions()

    /// Trusts none.
    init() {}

    /// Whether there is none.
    var isEmpty: Bool { self.networks.isEmpty }

    /// Parses addresses and networks: `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`.
    ///
    /// - Returns: `nil` if an entry is neither.
    package init?(parsing entries: [String]) {
        for entry in entries {
            let halves = entry.split(separator: "/", omittingEmptySubsequences: false)
            guard let most = NetworkAddress(halves[0].utf8)?.writtenBitCount, halves.count <= 2 else { return nil }
            guard halves.count == 2 else { continue }
            let digits = halves[1]
            guard digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let bits = Int(digits), bits <= most else {
                return nil
            }
        }
        self.networks = ProxyExceptions(entries.joined(separator: ","))
    }

    /// Whether an address is that of a trusted proxy.
    func contain(_ address: String) -> Bool {
        if self.networks.isEmpty { return false }
        return self.networks.cover(host: String(Substring(address.utf8.prefix { $0 != 0x25 })), port: 0)
    }
}
