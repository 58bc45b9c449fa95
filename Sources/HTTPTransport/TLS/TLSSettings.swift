// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOSSL
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// Creates the TLS handlers of connections; each context is created on first use.
///
/// Loading the system's certificates takes milliseconds, which runs over plain HTTP avoid.
final class TLSSettings: Sendable {
    /// The use of a context: whether it has the client's certificate, and whether NIOSSL verifies the name.
    private enum Use {
        case origin
        /// The origin is an address in a tunnel: NIOSSL would compare it with the proxy's address.
        case originByAddress
        /// A pinned key of the origin is enough.
        case originByKey
        case proxy
    }

    private let settings: TLSOptions
    private let material: TLSMaterial
    private let contexts = Mutex<[Use: NIOSSLContext]>([:])
    private let asked = Asked()

    /// Whether a server asked for a client certificate in a handshake, and none is configured.
    var lacksClientCertificate: Bool { self.asked.isAsked.load(ordering: .relaxed) }

    /// Records that a server asked for a client certificate.
    private final class Asked: Sendable {
        let isAsked = Atomic(false)
    }

    init(_ settings: TLSOptions) throws(TransportError) {
        self.settings = settings
        self.material = try TLSMaterial(settings)
    }

    /// Creates a handler for a connection to a server.
    ///
    /// - Parameters:
    ///   - origin: The server.
    ///   - isTunnelled: Whether the socket's peer is a proxy.
    /// - Returns: The handler, and a check to run after the handshake.
    /// - Throws: NIOSSL's errors, such as for an invalid server name.
    func makeHandler(
        for origin: Origin,
        isTunnelled: Bool
    ) throws -> (handler: NIOSSLClientHandler, check: CertificateCheck?) {
        let address = try? SocketAddress(ipAddress: origin.host, port: origin.port)
        let pins = Set(self.settings.pins.lazy.filter { $0.isFor(origin.host) }.map(\.sha256))
        let isByKey = self.settings.verification == .pinned && !pins.isEmpty
        // The address is compared by `CertificateCheck` if NIOSSL does not know it.
        let isCompared = isTunnelled && [.full, .pinned].contains(self.settings.verification) && !isByKey
        let compared = isCompared ? address : nil
        let context = try self.context(for: isByKey ? .originByKey : compared == nil ? .origin : .originByAddress)
        let name = address == nil ? Self.serverName(origin.host) : nil
        let handler = try NIOSSLClientHandler(context: context, serverHostname: name)
        let checked = isByKey ? nil : self.checkedName(name)
        guard !pins.isEmpty || compared != nil || checked != nil else { return (handler, nil) }
        // An address without bytes matches no certificate.
        let bytes = compared.map { $0.addressBytes ?? [] }
        return (handler, CertificateCheck(handler: handler, pins: pins, name: checked, address: bytes))
    }

    /// Creates a handler for a connection to a proxy.
    ///
    /// - Returns: The handler, and a check to run after the handshake.
    /// - Throws: NIOSSL's errors, such as for an invalid server name.
    func makeHandler(for proxy: ProxyServer) throws -> (handler: NIOSSLClientHandler, check: CertificateCheck?) {
        let host = proxy.origin.host
        let isAddress = (try? SocketAddress(ipAddress: host, port: proxy.origin.port)) != nil
        let name = isAddress ? nil : Self.serverName(host)
        let handler = try NIOSSLClientHandler(context: try self.context(for: .proxy), serverHostname: name)
        let check = self.checkedName(name)
            .map {
                CertificateCheck(handler: handler, pins: [], name: $0, address: nil)
            }
        return (handler, check)
    }

    /// The name to check, or `nil` if names are not verified.
    private func checkedName(_ name: String?) -> String? {
        [.full, .pinned].contains(self.settings.verification) ? name : nil
    }

    /// The name as in a certificate: without the trailing dot of an absolute name.
    private static func serverName(_ host: String) -> String {
        host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    private func context(for use: Use) throws -> NIOSSLContext {
        try self.contexts.withLock { contexts in
            if let context = contexts[use] { return context }
            let context = try NIOSSLContext(configuration: try self.configuration(for: use))
            contexts[use] = context
            return context
        }
    }

    private func configuration(for use: Use) throws(TransportError) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["http/1.1"]
        configuration.minimumTLSVersion = self.settings.minimumVersion == .tls13 ? .tlsv13 : .tlsv12
        configuration.certificateVerification =
            switch self.settings.verification {
            case .full, .pinned:
                switch use {
                case .origin, .proxy: .fullVerification
                case .originByAddress: .noHostnameVerification
                case .originByKey: .none
                }
            case .noHostname: .noHostnameVerification
            case .none: .none
            }
        if configuration.certificateVerification != .none { try self.setRoots(of: &configuration) }
        guard use != .proxy else { return configuration }
        if let key = self.material.key {
            configuration.certificateChain = self.material.chain.map { .certificate($0) }
            configuration.privateKey = .privateKey(key)
        } else {
            // Called if a server asks for a certificate. A server that requires one may respond with a status instead of
            // ending the handshake, as nginx does.
            configuration.sslContextCallback = { [asked = self.asked] _, promise in
                asked.isAsked.store(true, ordering: .relaxed)
                promise.succeed(.noChanges)
            }
        }
        return configuration
    }

    private func setRoots(of configuration: inout TLSConfiguration) throws(TransportError) {
        switch self.settings.roots {
        case .pemFile, .pem:
            configuration.trustRoots = .certificates(self.material.roots)
            return
        case .system, .systemAnd: break
        }
        var additional: [NIOSSLAdditionalTrustRoots] = []
        if case .systemAnd = self.settings.roots { additional.append(.certificates(self.material.roots)) }
        #if os(Linux)
        let found: SystemAuthorities? = SystemAuthorities.current
        #else
        let found = SystemAuthorities.chosen
        #endif
        if let found {
            if let problem = found.problem { throw problem }
            if found.isEmpty, additional.isEmpty { throw .noAuthorities }
            if !found.isUsual {
                // NIOSSL searches the files of one directory when they are needed; all others are read now.
                configuration.trustRoots = found.directories.first.map { .file($0) } ?? .certificates([])
                additional.append(.certificates(try found.certificates()))
            }
        }
        configuration.additionalTrustRoots = additional
    }
}
