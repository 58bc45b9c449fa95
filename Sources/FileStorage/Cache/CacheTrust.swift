// SPDX-License-Identifier: Apache-2.0
internal import Crypto
package import TransferCore

/// The servers that a session trusts, and its own identity: responses of a session that verifies less, or that has
/// another client certificate, are not used by another.
package struct CacheTrust: Hashable, Sendable {
    /// SHA-256 of the settings; the same in every process.
    let digest: [UInt8]

    /// Creates the trust of a session with these settings.
    ///
    /// Of files, only the paths count.
    package init(_ tls: TLSOptions) {
        var hash = SHA256()
        func add(_ bytes: [UInt8]) {
            withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: bytes)
        }
        func add(_ text: String) { add(Array(text.utf8)) }
        func add(_ pem: TLSOptions.PEM) {
            switch pem {
            case .file(let path):
                add("file")
                add(path)
            case .bytes(let bytes):
                add("bytes")
                add(bytes)
            }
        }
        switch tls.roots {
        case .system: add("system")
        case .pemFile(let path):
            add("only")
            add(.file(path))
        case .pem(let bytes):
            add("only")
            add(.bytes(bytes))
        case .systemAnd(let pem):
            add("system and")
            add(pem)
        }
        switch tls.verification {
        case .full: add("full")
        case .noHostname: add("no hostname")
        case .pinned: add("pinned")
        case .none: add("none")
        }
        switch tls.minimumVersion {
        case .tls12: add("1.2")
        case .tls13: add("1.3")
        }
        if let certificate = tls.clientCertificate {
            add("client")
            add(certificate.chain)
        }
        // Their order has no meaning.
        for pin in tls.pins.map({ Hexadecimal.encode($0.sha256) + " " + ($0.host ?? "") }).sorted() { add(pin) }
        self.digest = Array(hash.finalize())
    }
}
