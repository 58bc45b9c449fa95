// SPDX-License-Identifier: Apache-2.0
extension TLSOptions {
    /// A public key that a server may have, as the SHA-256 of its SubjectPublicKeyInfo.
    ///
    /// The key is that of the server's own certificate, as for curl's `--pinnedpubkey`: to pin an authority, make it
    /// the only root. A pin adds to the verification; with ``Verification/pinned`` or without it, a pin is sufficient.
    ///
    /// - Source: RFC 7469 §2.4.
    public struct Pin: Sendable, Hashable {
        /// The 32 bytes of the hash.
        public let sha256: [UInt8]
        /// The host in lower case, `*.` and a name for every host below it, or `nil` for all hosts.
        public let host: String?

        /// Creates a pin from the hash.
        ///
        /// - Parameters:
        ///   - sha256: The SHA-256 of the key's SubjectPublicKeyInfo.
        ///   - host: A host, `*.` and a name for every host below it, or `nil` for all hosts.
        /// - Throws: ``SyntaxError`` if the hash does not have 32 bytes.
        public init(sha256: [UInt8], host: String? = nil) throws(SyntaxError) {
            guard sha256.count == 32 else {
                throw SyntaxError("a pinned key's hash has \(sha256.count) bytes: SHA-256 has 32")
            }
            self.sha256 = sha256
            self.host = host?.lowercased()
        }

        /// Parses a pin: Base64, alone, or as `sha256//…` (curl) or `pin-sha256="…"` (RFC 7469).
        ///
        /// - Parameters:
        ///   - text: The pin.
        ///   - host: A host, `*.` and a name for every host below it, or `nil` for all hosts.
        /// - Throws: ``SyntaxError`` if the text is not a pin.
        public init(_ text: String, host: String? = nil) throws(SyntaxError) {
            var base64 = text[...]
            if base64.hasPrefix("sha256//") {
                base64 = base64.dropFirst("sha256//".count)
            } else if base64.hasPrefix("pin-sha256=\""), base64.hasSuffix("\"") {
                base64 = base64.dropFirst("pin-sha256=\"".count).dropLast()
            }
            guard let hash = Base64.decode(base64.utf8), hash.count == 32 else {
                throw SyntaxError(
                    "the pinned key is not a SHA-256 hash in Base64: write sha256// and the 44 characters of the hash"
                )
            }
            try self.init(sha256: hash, host: host)
        }

        /// Parses several pins separated by `;`, as in curl.
        ///
        /// - Throws: ``SyntaxError`` if one is not a pin.
        public static func list(_ text: String, host: String? = nil) throws(SyntaxError) -> [Pin] {
            var pins: [Pin] = []
            for part in text.split(separator: ";") { pins.append(try Pin(String(part), host: host)) }
            return pins
        }

        /// Whether the pin applies to a host.
        public func isFor(_ name: String) -> Bool {
            guard let host = self.host else { return true }
            let name = name.hasSuffix(".") ? String(name.dropLast()) : name
            return host.hasPrefix("*.") ? name.hasSuffix(host.dropFirst()) && name.count > host.count - 1 : name == host
        }
    }
}
