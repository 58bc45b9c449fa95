import Receiver

/// The certificate that a run uses.
enum ServeCertificate {
    /// Reads it, or makes it; `nil` for plain HTTP.
    ///
    /// - Throws: `ReceiverError` where a file cannot be read.
    static func load(
        _ plan: ServePlan
    ) throws(ReceiverError) -> (certificate: ServerCertificate, fingerprint: CertificateFingerprint?)? {
        switch plan.encryption {
        case .none: return nil
        case .selfSigned:
            let made = try SelfSignedCertificate.make(for: plan.configuration.listen)
            return (made.certificate, made.fingerprint)
        case .files(let certificate, let key):
            let chain = try ServeFile.text(certificate)
            return (ServerCertificate(chain: chain, key: try ServeFile.text(key)), nil)
        }
    }
}
