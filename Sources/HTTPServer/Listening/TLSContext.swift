// SPDX-License-Identifier: Apache-2.0
package import NIOSSL

/// Creates NIOSSL's context.
package enum TLSContext {
    /// Creates a context for TLS 1.2 and 1.3 with ALPN `http/1.1`.
    ///
    /// - Parameters:
    ///   - chain: The certificate and those of its issuers, as PEM.
    ///   - key: The private key, as PEM.
    /// - Returns: The context.
    /// - Throws: An error of NIOSSL if the certificate or its key is invalid.
    package static func make(chain: String, key: String) throws -> NIOSSLContext {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(chain.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        return try NIOSSLContext(configuration: configuration)
    }
}
