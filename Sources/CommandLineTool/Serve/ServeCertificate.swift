// SPDX-License-Identifier: Apache-2.0
import Control
import Receiver

/// The certificate of a run.
struct ServeCertificate {
    /// The certificate with its key.
    var certificate: ServerCertificate
    /// The fingerprints of a self-signed certificate.
    var fingerprint: CertificateFingerprint?
    /// The file with a self-signed certificate.
    var path: String?

    /// Reads or generates the certificate; `nil` for plain HTTP.
    ///
    /// A self-signed certificate is stored in the state directory, which is that of the daemon; without HOME, it is only
    /// for this run.
    ///
    /// - Parameters:
    ///   - plan: The arguments.
    ///   - environment: Returns the value of an environment variable.
    /// - Returns: The certificate, or `nil`.
    /// - Throws: `ReceiverError` if a file cannot be read or the certificate cannot be generated, `ControlError` if the
    ///   state directory cannot be used.
    static func load(
        _ plan: ServePlan,
        environment: (String) -> String? = StateDirectory.environment
    ) throws -> ServeCertificate? {
        switch plan.encryption {
        case .none: return nil
        case .selfSigned:
            let listen = plan.configuration.listen
            let names = [LocalAddress.reachable(for: listen.host)] + plan.configuration.allowedHosts
            guard let state = try? StateDirectory(nil, environment: environment) else {
                let made = try SelfSignedCertificate.make(for: listen, names: names)
                return ServeCertificate(certificate: made.certificate, fingerprint: made.fingerprint)
            }
            try state.make()
            let stored = try StoredCertificate(in: state.path, for: listen, names: names)
            return ServeCertificate(
                certificate: stored.certificate.certificate,
                fingerprint: stored.certificate.fingerprint,
                path: stored.path
            )
        case .files(let certificate, let key):
            let chain = try ServeFile.text(certificate)
            return ServeCertificate(certificate: ServerCertificate(chain: chain, key: try ServeFile.text(key)))
        }
    }
}
