// SPDX-License-Identifier: Apache-2.0
import NIOSSL

extension TestCertificate {
    /// Creates the TLS context of a server.
    ///
    /// - Parameters:
    ///   - clientAuthority: The authority, in PEM, that must have signed the client's certificate, or `nil`.
    ///   - withoutTLS13: Whether TLS 1.3 is disabled.
    /// - Returns: The context.
    /// - Throws: NIOSSL's errors if a text is not valid PEM.
    func serverContext(clientAuthority: String? = nil, withoutTLS13: Bool = false) throws -> NIOSSLContext {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(self.certificatePEM.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(self.keyPEM.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        if withoutTLS13 { configuration.maximumTLSVersion = .tlsv12 }
        if let clientAuthority {
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(clientAuthority.utf8)))
            configuration.certificateVerification = .noHostnameVerification
        }
        return try NIOSSLContext(configuration: configuration)
    }
}
