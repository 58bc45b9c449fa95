// SPDX-License-Identifier: Apache-2.0
internal import Crypto
internal import NIOCore
internal import NIOSSL
internal import TransferCore
internal import TransferEngine

/// Checks a server's certificate after the handshake, before anything is sent.
///
/// On Linux, a verification callback would replace NIOSSL's verification; this check adds to it.
struct CertificateCheck {
    /// The handler of the handshake.
    let handler: NIOSSLClientHandler
    /// The accepted SHA-256 hashes of the public key; empty if the host has no pins.
    let pins: Set<[UInt8]>
    /// The name that the certificate must contain, or `nil` if names do not matter or the host is an address.
    ///
    /// NIOSSL has verified it, but with wildcards that are none.
    let name: String?
    /// The address that the certificate must contain, or `nil` if NIOSSL has verified the address or it is a name.
    let address: [UInt8]?

    /// The reason to reject the certificate, or `nil`.
    func failure(of peer: Peer) -> TransportError? {
        guard let certificate = self.handler.peerCertificate else { return .unpinned(peer) }
        if self.address.map({ !Self.names(certificate, $0) }) ?? false
            || self.name.map({ !Self.names(certificate, $0) }) ?? false
        {
            return .handshaking(with: peer, NIOSSLExtraError.failedToValidateHostname, certificate: certificate)
        }
        guard !self.pins.isEmpty else { return nil }
        guard let key = try? certificate.extractPublicKey().toSPKIBytes(),
            self.pins.contains(Array(SHA256.hash(data: key)))
        else { return .unpinned(peer) }
        return nil
    }

    private static func names(_ certificate: NIOSSLCertificate, _ host: String) -> Bool {
        let names = certificate._subjectAlternativeNames()
        guard names.isEmpty else {
            return names.contains { $0.nameType == .dnsName && CertificateName.matches(Array($0.contents), host: host) }
        }
        return (try? certificate.toDERBytes()).map { !CertificateName.hasCommonWildcard($0) } ?? false
    }

    private static func names(_ certificate: NIOSSLCertificate, _ address: [UInt8]) -> Bool {
        certificate._subjectAlternativeNames()
            .contains { $0.nameType == .ipAddress && $0.contents.elementsEqual(address) }
    }
}

extension SocketAddress {
    /// The bytes of the address in network order, as in a certificate.
    var addressBytes: [UInt8]? {
        // Bounds: sockaddr_in has 16 bytes, sockaddr_in6 has 28.
        // After the family and the port (ip(7)), or these and the flow information (ipv6(7)).
        switch self {
        case .v4(let address): withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
        case .v6(let address): withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
        case .unixDomainSocket: nil
        }
    }
}
