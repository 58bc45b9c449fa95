// SPDX-License-Identifier: Apache-2.0
/// A certificate with its private key, in PEM format.
public struct ServerCertificate: Sendable {
    /// The certificate, followed by those of its issuers.
    public var chain: String
    /// The private key.
    public var key: String

    /// Creates a certificate from PEM texts.
    public init(chain: String, key: String) {
        self.chain = chain
        self.key = key
    }
}
