// SPDX-License-Identifier: Apache-2.0
internal import Crypto
internal import Platform
internal import TransferCore

/// The fingerprints by which a client verifies a self-signed certificate.
public struct CertificateFingerprint: Sendable, Hashable {
    /// The SHA-256 of the certificate, in the format of browsers: `AB:CD:…`.
    public var certificate: String
    /// The SHA-256 of the public key, in the format of `martlet get --pinnedpubkey` and curl: `sha256//BASE64`.
    public var pin: String
}

/// A self-signed certificate, which clients verify by its fingerprint or trust as their only authority.
///
/// P-256, valid for one year, for the names and addresses of the receiver. It has no key usage: verifiers such as
/// BoringSSL accept a certificate as its own issuer only if it has no key usage or one that includes signing
/// certificates, which would make it an authority for any name.
///
/// - Source: RFC 5280 §4; RFC 5758 §3.2 for the signature.
public struct SelfSignedCertificate: Sendable {
    /// The certificate with its key.
    public let certificate: ServerCertificate
    /// The fingerprints of the certificate.
    public let fingerprint: CertificateFingerprint

    /// The time for which a certificate is valid, in seconds.
    static let lifetime: Int64 = 366 * 86400

    /// Generates a certificate with a new key.
    ///
    /// - Parameters:
    ///   - address: The address on which the receiver listens.
    ///   - names: More names and addresses by which clients reach it.
    /// - Returns: The certificate.
    /// - Throws: ``ReceiverError`` with `certificate` if signing fails.
    public static func make(
        for address: ListenAddress,
        names: [String] = []
    ) throws(ReceiverError) -> SelfSignedCertificate {
        try SelfSignedCertificate(
            P256.Signing.PrivateKey(),
            names: Self.names(address, names),
            now: Timestamp.now
        )
    }

    /// Generates a certificate for a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - names: The subject alternative names, as DER.
    ///   - now: The current time, in seconds since 1970.
    /// - Throws: ``ReceiverError`` with `certificate` if signing fails.
    init(_ key: P256.Signing.PrivateKey, names: [[UInt8]], now: Int64) throws(ReceiverError) {
        let publicKey = DER.sequence(
            DER.sequence(Self.ecPublicKey, Self.prime256v1),
            DER.bitString(Array(key.publicKey.x963Representation))
        )
        let body = Self.body(publicKey, names: names, now: now)
        let signature: P256.Signing.ECDSASignature
        do {
            signature = try key.signature(for: body)
        } catch {
            throw ReceiverError(.certificate, "cannot sign a certificate (\(error))")
        }
        let certificate = DER.sequence(
            body,
            DER.sequence(Self.ecdsaWithSHA256),
            DER.bitString(Array(signature.derRepresentation))
        )
        self.init(certificate, PEMText.write("CERTIFICATE", certificate), key)
    }

    /// Combines a certificate with its key and computes the fingerprints.
    ///
    /// - Parameters:
    ///   - certificate: The certificate as DER.
    ///   - text: The same as PEM.
    ///   - key: Its key.
    init(_ certificate: [UInt8], _ text: String, _ key: P256.Signing.PrivateKey) {
        let digest = SHA256.hash(data: certificate)
        self.fingerprint = CertificateFingerprint(
            certificate: digest.map { Hexadecimal.encode([$0]).uppercased() }.joined(separator: ":"),
            pin: "sha256//" + Base64.encode(SHA256.hash(data: key.publicKey.derRepresentation))
        )
        self.certificate = ServerCertificate(chain: text, key: key.pemRepresentation)
    }

    private static func body(_ publicKey: [UInt8], names: [[UInt8]], now: Int64) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        let serial = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
        let name = DER.sequence(DER.set(DER.sequence(Self.commonName, DER.text("martlet serve"))))
        let isAuthority = DER.sequence(Self.basicConstraints, DER.boolean(true), DER.octetString(DER.sequence()))
        let purpose = DER.sequence(Self.extendedKeyUsage, DER.octetString(DER.sequence(Self.serverAuthentication)))
        let alternatives = DER.sequence(Self.subjectAlternativeName, DER.octetString(DER.value(0x30, names)))
        return DER.sequence(
            DER.context(0, DER.integer([2])),
            DER.integer(serial),
            DER.sequence(Self.ecdsaWithSHA256),
            name,
            // Starts an hour ago, to tolerate clock differences.
            DER.sequence(DER.time(now - 3600), DER.time(now + Self.lifetime)),
            name,
            publicKey,
            DER.context(3, DER.sequence(isAuthority, purpose, alternatives))
        )
    }

    /// The subject alternative names, as `GeneralName`s: this machine's names and addresses, and the listen address.
    static func names(_ address: ListenAddress, _ more: [String]) -> [[UInt8]] {
        var hosts = ["localhost", "127.0.0.1", "::1"]
        var name = [CChar](repeating: 0, count: 256)
        if gethostname(&name, name.count - 1) == 0 {
            let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if !text.isEmpty { hosts.append(text) }
        }
        var seen: Set<String> = []
        return (hosts + [address.host] + more)
            .filter { seen.insert($0).inserted && !["::", "0.0.0.0"].contains($0) }
            .compactMap { host in
                let address = NetworkAddress(host.utf8.prefix { $0 != 0x25 })
                if let address { return DER.value(0x87, address.bytes) }
                guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
                return DER.value(0x82, Array(host.utf8))
            }
    }

    // Object identifiers: RFC 5480 §2.1.1, RFC 5758 §3.2, RFC 5280 §4.2 and appendix A.
    private static let ecPublicKey = DER.identifier(0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01)
    private static let prime256v1 = DER.identifier(0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07)
    private static let ecdsaWithSHA256 = DER.identifier(0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02)
    private static let commonName = DER.identifier(0x55, 0x04, 0x03)
    private static let basicConstraints = DER.identifier(0x55, 0x1D, 0x13)
    private static let extendedKeyUsage = DER.identifier(0x55, 0x1D, 0x25)
    private static let subjectAlternativeName = DER.identifier(0x55, 0x1D, 0x11)
    private static let serverAuthentication = DER.identifier(0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01)
}
