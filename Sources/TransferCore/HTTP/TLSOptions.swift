// SPDX-License-Identifier: Apache-2.0
/// The verification of servers, and the identity of the client.
///
/// Roots, verification and version also apply to a proxy that uses TLS; pins and the client's certificate apply to
/// servers only.
public struct TLSOptions: Sendable, Hashable {
    /// Certificates or a key as PEM text.
    public enum PEM: Sendable, Hashable {
        case file(String)
        /// The text itself.
        case bytes([UInt8])
    }

    /// The trusted authorities.
    public enum Roots: Sendable, Hashable {
        /// The system's authorities.
        ///
        /// On Linux these are the files of the distribution, or those that the environment variables `SSL_CERT_FILE` and
        /// `SSL_CERT_DIR` name.
        case system
        /// The authorities in a PEM file, and no others.
        case pemFile(String)
        /// The authorities in a PEM text, and no others.
        case pem([UInt8])
        /// The system's authorities and additional ones.
        case systemAnd(PEM)
    }

    /// The requirements for a server's certificate.
    public enum Verification: Sendable, Hashable {
        /// It must be signed by an authority and name the host.
        case full
        /// It must be signed by an authority.
        case noHostname
        /// A pinned key is sufficient for the hosts of ``TLSOptions/pins``; all other hosts, and proxies, are
        /// verified as with ``full``.
        ///
        /// For servers with a self-signed certificate, such as `martlet serve --tls-self-signed`. Neither the names
        /// nor the dates of a pinned host's certificate are checked.
        case pinned
        /// Nothing is verified: an attacker on the network can read and modify all data.
        case none
    }

    /// A version of TLS.
    public enum Version: Sendable, Hashable {
        /// TLS 1.2 (RFC 5246).
        case tls12
        /// TLS 1.3 (RFC 8446).
        case tls13
    }

    /// The client's identity, for servers that require one.
    public struct ClientCertificate: Sendable, Hashable, CustomStringConvertible {
        /// The certificate, followed by intermediate certificates.
        public var chain: PEM
        /// The private key.
        public var key: PEM
        /// The passphrase of the key, or `nil` (ASCII).
        public var passphrase: String?

        /// Creates a client certificate.
        ///
        /// - Parameters:
        ///   - chain: The certificate, followed by intermediate certificates.
        ///   - key: The private key, or `nil` if it is stored with the certificate.
        ///   - passphrase: The passphrase of the key, or `nil`.
        public init(chain: PEM, key: PEM? = nil, passphrase: String? = nil) {
            self.chain = chain
            self.key = key ?? chain
            self.passphrase = passphrase
        }

        /// A fixed text: neither the key nor its passphrase may appear in messages.
        public var description: String { "a client certificate" }
    }

    /// The trusted authorities.
    public var roots: Roots
    /// The requirements for a server's certificate.
    public var verification: Verification
    /// The certificate for servers that request one, or `nil`.
    public var clientCertificate: ClientCertificate?
    /// The minimum version.
    public var minimumVersion: Version
    /// The pinned keys: if any apply to a server's host, the server must have one of them.
    public var pins: [Pin]

    /// Creates the default settings: the system's authorities, full verification, TLS 1.2 or later.
    public init() {
        self.roots = .system
        self.verification = .full
        self.clientCertificate = nil
        self.minimumVersion = .tls12
        self.pins = []
    }
}
