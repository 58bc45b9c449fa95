/// How servers are trusted, and how this side shows who it is.
///
/// Roots, verification and version hold for a proxy that speaks TLS as well; pins and the client's certificate are
/// for servers only.
public struct TLSOptions: Sendable, Hashable {
    /// Certificates or a key as PEM text.
    public enum PEM: Sendable, Hashable {
        /// A file.
        case file(String)
        /// The text itself.
        case bytes([UInt8])
    }

    /// The authorities to trust.
    public enum Roots: Sendable, Hashable {
        /// Those of the system.
        case system
        /// Those in a PEM file, and no others.
        case pemFile(String)
        /// Those in a PEM text, and no others.
        case pem([UInt8])
        /// Those of the system and more.
        case systemAnd(PEM)
    }

    /// What must be right about a server's certificate.
    public enum Verification: Sendable, Hashable {
        /// An authority must vouch for it, and it must name the host.
        case full
        /// An authority must vouch for it.
        case noHostname
        /// A pinned key is enough for the hosts that ``TLSOptions/pins`` are for; all other hosts, and proxies, are
        /// verified as by ``full``.
        ///
        /// For servers with a self-signed certificate, such as `martlet serve --tls-self-signed`. Neither the names
        /// nor the dates of a pinned host's certificate are checked.
        case pinned
        /// Nothing: anybody on the way can read and change what is transferred.
        case none
    }

    /// A version of TLS.
    public enum Version: Sendable, Hashable {
        /// TLS 1.2 (RFC 5246).
        case tls12
        /// TLS 1.3 (RFC 8446).
        case tls13
    }

    /// Who this side is, for servers that ask.
    public struct ClientCertificate: Sendable, Hashable, CustomStringConvertible {
        /// The certificate, and the intermediate ones behind it.
        public var chain: PEM
        /// The private key.
        public var key: PEM
        /// The passphrase of the key, or `nil` (ASCII).
        public var passphrase: String?

        /// Creates a client certificate.
        ///
        /// - Parameters:
        ///   - chain: The certificate, and the intermediate ones behind it.
        ///   - key: The private key, or `nil` where it stands with the certificate.
        ///   - passphrase: The passphrase of the key, or `nil`.
        public init(chain: PEM, key: PEM? = nil, passphrase: String? = nil) {
            self.chain = chain
            self.key = key ?? chain
            self.passphrase = passphrase
        }

        /// That there is one: neither the key nor its passphrase is for a message.
        public var description: String { "a client certificate" }
    }

    /// The authorities to trust.
    public var roots: Roots
    /// What must be right about a server's certificate.
    public var verification: Verification
    /// The certificate to give to a server that asks for one, or `nil`.
    public var clientCertificate: ClientCertificate?
    /// The lowest version to speak.
    public var minimumVersion: Version
    /// The keys of which a server must have one: of those that are for its host, where there are any.
    public var pins: [Pin]

    /// Creates the default settings: the system's authorities, all verified, TLS 1.2 or later.
    public init() {
        self.roots = .system
        self.verification = .full
        self.clientCertificate = nil
        self.minimumVersion = .tls12
        self.pins = []
    }
}
