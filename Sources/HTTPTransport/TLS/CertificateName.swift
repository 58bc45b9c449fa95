// SPDX-License-Identifier: Apache-2.0

/// Matches the names in a certificate with a host, more strictly than NIOSSL.
///
/// For NIOSSL, `*` is any part of the first label: `*` and `l*t` match `localhost`, and a certificate for `*` is one for
/// every host of a local network. Here a wildcard is the complete first label, before at least two others. RFC 9525
/// requires the former; the latter is what OpenSSL, and so curl, require: no authority may issue a name like `*.com`.
///
/// - Source: RFC 9525 §6.3.
enum CertificateName {
    /// Whether a name in a certificate is valid for a host.
    ///
    /// - Parameters:
    ///   - name: A dNSName; a trailing dot and the letter case do not matter.
    ///   - host: A host's name, not an address.
    /// - Returns: Whether they match.
    static func matches(_ name: [UInt8], host: String) -> Bool {
        let (name, host) = (Self.canonical(name), Self.canonical(Array(host.utf8)))
        guard name.contains(UInt8(ascii: "*")) else { return !name.isEmpty && name == host }
        guard Self.isWildcard(name), let dot = host.firstIndex(of: UInt8(ascii: ".")), dot > 0 else { return false }
        return name[1...] == host[dot...]
    }

    /// Whether a name has the form `*.LABEL.LABEL`, with at least two labels.
    private static func isWildcard(_ name: [UInt8]) -> Bool {
        let labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return labels.count >= 3 && labels[0] == [UInt8(ascii: "*")]
            && labels.dropFirst().allSatisfy { !$0.isEmpty && !$0.contains(UInt8(ascii: "*")) }
    }

    /// Whether a name has a `*` other than a wildcard.
    static func isMisplacedWildcard(_ name: String) -> Bool {
        name.utf8.contains(UInt8(ascii: "*")) && !Self.isWildcard(Self.canonical(Array(name.utf8)))
    }

    private static func canonical(_ name: [UInt8]) -> [UInt8] {
        (name.last == UInt8(ascii: ".") ? name.dropLast() : name[...])
            .map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// Whether a common name in an encoded certificate has a `*`.
    ///
    /// NIOSSL compares the common name if there is no subjectAltName, but does not publish it.
    static func hasCommonWildcard(_ encoded: [UInt8]) -> Bool {
        // id-at-commonName, 2.5.4.3, as DER; then the tag, the length and the characters.
        let type: [UInt8] = [0x06, 0x03, 0x55, 0x04, 0x03]
        return encoded.indices.contains { index in
            let rest = encoded[index...]
            return rest.starts(with: type)
                && rest.dropFirst(7).prefix(rest.dropFirst(6).first.map(Int.init) ?? 0).contains(UInt8(ascii: "*"))
        }
    }
}
