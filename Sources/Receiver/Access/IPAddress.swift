// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// Parses numeric addresses.
///
/// - Source: inet_pton(3).
enum IPAddress {
    /// The 4 bytes of an IPv4 address, or `nil`.
    static func v4(_ text: String) -> [UInt8]? {
        var address = in_addr()
        return inet_pton(AF_INET, text, &address) == 1 ? withUnsafeBytes(of: address) { Array($0) } : nil
    }

    /// The 16 bytes of an IPv6 address, or `nil`.
    static func v6(_ text: String) -> [UInt8]? {
        var address = in6_addr()
        let numeric = String(text.prefix { $0 != "%" })
        return inet_pton(AF_INET6, numeric, &address) == 1 ? withUnsafeBytes(of: address) { Array($0) } : nil
    }
}
