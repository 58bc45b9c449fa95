/// A certificate with its key, PEM.
public struct ServerCertificate: Sendable {
    /// The certificate, and those of its issuers behind it.
    public var chain: String
    /// The private key.
    public var key: String

    /// Creates a certificate from its texts.
    public init(chain: String, key: String) {
        self.chain = chain
        self.key = key
    }
}
