internal import NIOCore
internal import NIOSSL
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// How servers are trusted; each context is made when the first connection asks for it.
///
/// Reading the system's certificates takes milliseconds, which a run over plain HTTP need not pay.
final class TLSSettings: Sendable {
    /// What a connection is for: who may see the client's certificate, and who compares the name.
    private enum Use {
        case origin
        /// NIOSSL would compare an address with that of the proxy.
        case originByAddress
        case proxy
    }

    private let settings: TLSOptions
    private let material: TLSMaterial
    private let contexts = Mutex<[Use: NIOSSLContext]>([:])

    init(_ settings: TLSOptions) throws(TransportError) {
        self.settings = settings
        self.material = try TLSMaterial(settings)
    }

    /// A handler for a connection with a server.
    ///
    /// - Parameters:
    ///   - origin: The server.
    ///   - isTunnelled: Whether the socket's other end is a proxy.
    /// - Returns: The handler, and what is to be looked at after the handshake.
    /// - Throws: NIOSSL's errors, such as for a name that cannot be sent.
    func makeHandler(
        for origin: Origin,
        isTunnelled: Bool
    ) throws -> (handler: NIOSSLClientHandler, check: CertificateCheck?) {
        let address = try? SocketAddress(ipAddress: origin.host, port: origin.port)
        // An address is compared here where NIOSSL cannot know it.
        let compared = isTunnelled && self.settings.verification == .full ? address : nil
        let context = try self.context(for: compared == nil ? .origin : .originByAddress)
        let name = address == nil ? Self.serverName(origin.host) : nil
        let handler = try NIOSSLClientHandler(context: context, serverHostname: name)
        let pins = Set(self.settings.pins.lazy.filter { $0.isFor(origin.host) }.map(\.sha256))
        guard !pins.isEmpty || compared != nil else { return (handler, nil) }
        // An address without bytes is none, and no certificate names it.
        let bytes = compared.map { $0.addressBytes ?? [] }
        return (handler, CertificateCheck(handler: handler, pins: pins, address: bytes))
    }

    /// A handler for a connection with a proxy.
    func makeHandler(for proxy: ProxyServer) throws -> NIOSSLClientHandler {
        let host = proxy.origin.host
        let isAddress = (try? SocketAddress(ipAddress: host, port: proxy.origin.port)) != nil
        return try NIOSSLClientHandler(
            context: try self.context(for: .proxy),
            serverHostname: isAddress ? nil : Self.serverName(host)
        )
    }

    /// The name as a certificate has it: without the dot that ends an absolute name.
    private static func serverName(_ host: String) -> String {
        host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    private func context(for use: Use) throws -> NIOSSLContext {
        try self.contexts.withLock { contexts in
            if let context = contexts[use] { return context }
            let context = try NIOSSLContext(configuration: self.configuration(for: use))
            contexts[use] = context
            return context
        }
    }

    private func configuration(for use: Use) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["http/1.1"]
        configuration.minimumTLSVersion = self.settings.minimumVersion == .tls13 ? .tlsv13 : .tlsv12
        configuration.certificateVerification =
            switch self.settings.verification {
            case .full: use == .originByAddress ? .noHostnameVerification : .fullVerification
            case .noHostname: .noHostnameVerification
            case .none: .none
            }
        switch self.settings.roots {
        case .system: break
        case .pemFile, .pem: configuration.trustRoots = .certificates(self.material.roots)
        case .systemAnd: configuration.additionalTrustRoots = [.certificates(self.material.roots)]
        }
        if use != .proxy, let key = self.material.key {
            configuration.certificateChain = self.material.chain.map { .certificate($0) }
            configuration.privateKey = .privateKey(key)
        }
        return configuration
    }
}
