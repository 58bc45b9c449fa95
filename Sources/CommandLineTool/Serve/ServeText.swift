// SPDX-License-Identifier: Apache-2.0
import Receiver

/// Formats the output of `martlet serve`.
enum ServeText {
    /// The lines at the start, for people and scripts: each one starts with a keyword.
    static func greeting(
        _ receiver: Receiver,
        _ configuration: ReceiverConfiguration,
        certificate: ServeCertificate?
    ) -> String {
        let base = self.base(receiver.address, isSecure: configuration.certificate != nil)
        var lines: [String] = []
        if let directory = configuration.directory {
            lines.append("serving \(DisplayText.clean(directory)) at \(base)\(configuration.basePath)/")
        }
        for (path, offer) in zip(receiver.sharePaths, configuration.shares) {
            lines.append("share \(DisplayText.clean(offer.path)) at \(base)\(path)")
        }
        if let fingerprint = certificate?.fingerprint {
            lines.append("fingerprint sha256 \(fingerprint.certificate)")
            lines.append("pin \(fingerprint.pin)")
        }
        if let path = certificate?.path { lines.append("certificate \(DisplayText.clean(path))") }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Warnings for the user.
    static func warnings(_ configuration: ReceiverConfiguration) -> [String] {
        guard !configuration.listen.isLoopback, configuration.certificate == nil else { return [] }
        return [
            "the connection is not encrypted: credentials and files can be read on the network; use --tls-self-signed"
        ]
    }

    private static func base(_ address: ListenAddress, isSecure: Bool) -> String {
        var address = address
        address.host = LocalAddress.reachable(for: address.host)
        return (isSecure ? "https://" : "http://") + address.description
    }
}
