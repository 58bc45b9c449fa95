internal import NIOSSL
internal import Synchronization
internal import TransferEngine

/// How servers are trusted; the context is made when the first `https` URL asks for it.
///
/// Reading the system's certificates takes milliseconds, which a run over plain HTTP need not pay.
final class TLSSettings: Sendable {
    private let configuration: TLSConfiguration
    private let context = Mutex<NIOSSLContext?>(nil)

    init(_ settings: HTTPTransport.Configuration) throws(TransportError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["http/1.1"]
        if !settings.verifiesCertificates { configuration.certificateVerification = .none }
        if let file = settings.caFile {
            configuration.trustRoots = .certificates(try Self.certificates(in: file))
        }
        self.configuration = configuration
    }

    private static func certificates(in file: String) throws(TransportError) -> [NIOSSLCertificate] {
        let certificates: [NIOSSLCertificate]
        do {
            certificates = try NIOSSLCertificate.fromPEMFile(file)
        } catch {
            throw TransportError(
                .certificate,
                "cannot read certificates from \(file): give --cacert a readable file of PEM certificates"
            )
        }
        guard !certificates.isEmpty else {
            throw TransportError(.certificate, "\(file) holds no certificate: give --cacert a file of PEM certificates")
        }
        return certificates
    }

    /// A handler for one connection.
    ///
    /// - Parameter name: The name to send and to verify, or `nil` for an address, which is verified itself.
    /// - Returns: The handler.
    /// - Throws: NIOSSL's errors, such as for a name that cannot be sent.
    func makeHandler(serverName name: String?) throws -> NIOSSLClientHandler {
        let context = try self.context.withLock { cached in
            if let cached { return cached }
            let context = try NIOSSLContext(configuration: self.configuration)
            cached = context
            return context
        }
        return try NIOSSLClientHandler(context: context, serverHostname: name)
    }
}
