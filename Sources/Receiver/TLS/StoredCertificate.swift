// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Crypto
internal import Files
internal import NIOSSL
internal import TransferCore

/// A self-signed certificate that persists between runs, so that clients can keep trusting it.
///
/// A private key (`serve-key`) and the certificate (`serve-certificate.pem`) are stored in a directory, both with mode
/// 0600. A certificate that expires within 30 days, or that lacks a name of this run, is replaced by one with the same
/// key: the pin never changes.
public struct StoredCertificate: Sendable {
    /// The certificate.
    public let certificate: SelfSignedCertificate
    /// The path of the certificate, for clients that trust it as an authority.
    public let path: String

    /// The remaining lifetime below which a certificate is replaced, in seconds.
    private static let margin: Int64 = 30 * 86400

    /// Loads the certificate of a directory, or generates it.
    ///
    /// - Parameters:
    ///   - directory: The directory, which must exist.
    ///   - address: The address on which the receiver listens.
    ///   - names: More names and addresses by which clients reach it.
    /// - Throws: ``ReceiverError`` with `certificate` if the files cannot be written, or if others can read the key.
    public init(
        in directory: String,
        for address: ListenAddress,
        names: [String] = []
    ) throws(ReceiverError) {
        try self.init(in: directory, for: address, names: names, now: Timestamp.now)
    }

    /// Loads or generates the certificate at a time in seconds since 1970.
    init(in directory: String, for address: ListenAddress, names: [String], now: Int64) throws(ReceiverError) {
        let key = try Self.key(directory + "/serve-key")
        let path = directory + "/serve-certificate.pem"
        let names = SelfSignedCertificate.names(address, names)
        self.path = path
        if let stored = Self.read(path, key, names: names, now: now) {
            self.certificate = stored
            return
        }
        let made = try SelfSignedCertificate(key, names: names, now: now)
        do throws(StorageError) {
            try AtomicFile.replace(path, with: Array(made.certificate.chain.utf8), mode: 0o600)
        } catch {
            throw ReceiverError(.certificate, "cannot store the certificate: \(error.message)")
        }
        self.certificate = made
    }

    /// Reads the key, or creates it: the 32 bytes of the private scalar as hexadecimal digits.
    private static func key(_ path: String) throws(ReceiverError) -> P256.Signing.PrivateKey {
        let secret: String
        do throws(ControlError) {
            secret = try SecretFile.readOrMake(path)
        } catch {
            throw ReceiverError(.certificate, "cannot use the certificate's key: \(error.description)")
        }
        guard let bytes = Hexadecimal.decode(secret.utf8),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        else {
            throw ReceiverError(.certificate, "'\(path)' is not a private key; delete it, and a new one is generated")
        }
        return key
    }

    /// The stored certificate, or `nil` if there is none that can be used.
    private static func read(
        _ path: String,
        _ key: P256.Signing.PrivateKey,
        names: [[UInt8]],
        now: Int64
    ) -> SelfSignedCertificate? {
        guard let text = (try? AtomicFile.read(path, atMost: 64 << 10)) ?? nil,
            let stored = try? NIOSSLCertificate.fromPEMBytes(text).first,
            let bytes = try? stored.toDERBytes(),
            (try? stored.extractPublicKey().toSPKIBytes()) == Array(key.publicKey.derRepresentation),
            Int64(stored.notValidBefore) <= now, now + Self.margin < Int64(stored.notValidAfter)
        else { return nil }
        let known = Set(
            stored._subjectAlternativeNames()
                .map { DER.value($0.nameType == .ipAddress ? 0x87 : 0x82, Array($0.contents)) }
        )
        guard known.isSuperset(of: names) else { return nil }
        return SelfSignedCertificate(bytes, PEMText.write("CERTIFICATE", bytes), key)
    }
}
