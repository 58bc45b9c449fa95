import Receiver

/// Loads the certificate of a run.
enum ServeCertificate {
    /// Reads or generates the certificate; `nil` for plain HTTP.
    ///
    /// - Throws: `ReceiverError` if a file cannot be read or the certificate cannot be generated.
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
