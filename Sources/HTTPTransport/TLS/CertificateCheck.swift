internal import Crypto
internal import NIOCore
internal import NIOSSL
internal import TransferCore
internal import TransferEngine

/// What is looked at in a server's certificate when the handshake is done and nothing has been sent.
///
/// On Linux a verification callback of NIOSSL's replaces its verification; this adds to it.
struct CertificateCheck {
    /// The handler whose handshake it was.
    let handler: NIOSSLClientHandler
    /// The hashes of which the key's must be one; empty where there are no pins for the host.
    let pins: Set<[UInt8]>
    /// The address that the certificate must name, or `nil` where NIOSSL has compared the name.
    let address: [UInt8]?

    /// Why the certificate is not good enough, or `nil`.
    func failure(of peer: Peer) -> TransportError? {
        guard let certificate = self.handler.peerCertificate else { return .unpinned(peer) }
        if let address = self.address, !Self.names(certificate, address) {
            return .handshaking(with: peer, NIOSSLExtraError.failedToValidateHostname, certificate: certificate)
        }
        guard !self.pins.isEmpty else { return nil }
        guard let key = try? certificate.extractPublicKey().toSPKIBytes(),
            self.pins.contains(Array(SHA256.hash(data: key)))
        else { return .unpinned(peer) }
        return nil
    }

    private static func names(_ certificate: NIOSSLCertificate, _ address: [UInt8]) -> Bool {
        certificate._subjectAlternativeNames()
            .contains { $0.nameType == .ipAddress && $0.contents.elementsEqual(address) }
    }
}

extension SocketAddress {
    /// The bytes of the address in network order, as a certificate has them.
    var addressBytes: [UInt8]? {
        // Behind the family and the port (ip(7)), or those and the flow's label (ipv6(7)).
        switch self {
        case .v4(let address): withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
        case .v6(let address): withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
        case .unixDomainSocket: nil
        }
    }
}
