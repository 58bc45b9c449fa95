// SPDX-License-Identifier: Apache-2.0
internal import NIOSSL
internal import TransferCore
internal import TransferEngine

/// The certificates and the key of TLS settings, loaded and validated.
struct TLSMaterial: Sendable {

    /// The trusted authorities, instead of the system's or in addition.
    let roots: [NIOSSLCertificate]
    /// The client's certificate, followed by intermediate ones.
    let chain: [NIOSSLCertificate]
    /// The client's key.
    let key: NIOSSLPrivateKey?

    /// Loads the files that the settings name.
    ///
    /// - Throws: `TransportError` with the code `certificate`; the message names the file and how to fix it.
    init(_ settings: TLSOptions) throws(TransportError) {
        let remedy = "use a readable file of PEM certificates"
        self.roots =
            switch settings.roots {
            case .system: []
            case .pemFile(let file): try Self.certificates(.file(file), of: "authorities", remedy)
            case .pem(let bytes): try Self.certificates(.bytes(bytes), of: "authorities", remedy)
            case .systemAnd(let pem): try Self.certificates(pem, of: "authorities", remedy)
            }
        guard let identity = settings.clientCertificate else {
            self.chain = []
            self.key = nil
            return
        }
        let chain = try Self.certificates(identity.chain, of: "the client", "use a readable file of PEM certificates")
        let key = try Self.key(identity)
        try Self.check(chain, key, identity)
        self.chain = chain
        self.key = key
    }

    private static func certificates(
        _ pem: TLSOptions.PEM,
        of owner: String,
        _ remedy: String
    ) throws(TransportError) -> [NIOSSLCertificate] {
        let certificates: [NIOSSLCertificate]
        do {
            switch pem {
            case .file(let file): certificates = try NIOSSLCertificate.fromPEMFile(file)
            // NIOSSL does not accept empty input.
            case .bytes(let bytes): certificates = bytes.isEmpty ? [] : try NIOSSLCertificate.fromPEMBytes(bytes)
            }
        } catch {
            throw TransportError(
                .certificate,
                "cannot read certificates of \(owner) from \(Self.place(pem)): \(remedy)"
            )
        }
        guard !certificates.isEmpty else {
            throw TransportError(.certificate, "\(Self.place(pem)) contains no certificate of \(owner): \(remedy)")
        }
        return certificates
    }

    private static func key(_ identity: TLSOptions.ClientCertificate) throws(TransportError) -> NIOSSLPrivateKey {
        let place = Self.place(identity.key)
        let passphrase = Array((identity.passphrase ?? "").utf8)
        guard passphrase.allSatisfy({ $0 < 0x80 }) else {
            throw TransportError(
                .certificate,
                "the passphrase of the key in \(place) is not ASCII: encrypt the key with another passphrase"
            )
        }
        do {
            // Always provide a passphrase: without one, BoringSSL may prompt on the terminal.
            switch identity.key {
            case .file(let file):
                return try NIOSSLPrivateKey(file: file, format: .pem) { give in give(passphrase) }
            case .bytes(let bytes):
                guard !bytes.isEmpty else { throw NIOSSLError.failedToLoadPrivateKey }
                return try NIOSSLPrivateKey(bytes: bytes, format: .pem) { give in give(passphrase) }
            }
        } catch {
            throw TransportError(
                .certificate,
                identity.passphrase == nil
                    ? "cannot read a private key from \(place): use a PEM key, with its passphrase if it is encrypted"
                    : "cannot read a private key from \(place): use a PEM key with its passphrase"
            )
        }
    }

    /// Checks that the key fits the certificate, in a separate context that loads no authorities.
    private static func check(
        _ chain: [NIOSSLCertificate],
        _ key: NIOSSLPrivateKey,
        _ identity: TLSOptions.ClientCertificate
    ) throws(TransportError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates([])
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(key)
        do {
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            throw TransportError(
                .certificate,
                "the private key in \(Self.place(identity.key)) does not match the certificate in "
                    + "\(Self.place(identity.chain)): use the key of that certificate, and list that certificate first"
            )
        }
    }

    private static func place(_ pem: TLSOptions.PEM) -> String {
        switch pem {
        case .file(let file): file
        case .bytes: "the PEM text"
        }
    }
}
