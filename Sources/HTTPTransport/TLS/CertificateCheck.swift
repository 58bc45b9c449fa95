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
    /// The address that the certificate must contain, or `nil` if NIOSSL has verified the name.
    let address: [UInt8]?

    /// The reason to reject the certificate, or `nil`.
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
    /// The bytes of the address in network order, as in a certificate.
    var addressBytes: [UInt8]? {
        // After the family and the port (ip(7)), or these and the flow information (ipv6(7)).
        switch self {
        case .v4(let address): withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
        case .v6(let address): withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
        case .unixDomainSocket: nil
        }
    }
}
