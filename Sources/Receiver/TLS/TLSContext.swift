internal import NIOSSL

/// Creates NIOSSL's context.
enum TLSContext {
    /// Creates a context for TLS 1.2 and 1.3 with ALPN `http/1.1`.
    ///
    /// - Throws: ``ReceiverError`` with `certificate` if the certificate or its key is invalid.
    static func make(_ certificate: ServerCertificate) throws(ReceiverError) -> NIOSSLContext {
        do {
            let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.chain.utf8))
            let key = try NIOSSLPrivateKey(bytes: Array(certificate.key.utf8), format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) },
                privateKey: .privateKey(key)
            )
            configuration.minimumTLSVersion = .tlsv12
            configuration.applicationProtocols = ["http/1.1"]
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw ReceiverError(
                .certificate,
                "the certificate or its key cannot be used (\(error)); both must be PEM and belong together"
            )
        }
    }
}
