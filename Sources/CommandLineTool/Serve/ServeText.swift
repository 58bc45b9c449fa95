// SPDX-License-Identifier: Apache-2.0
import Receiver

/// Formats the output of `martlet serve`.
enum ServeText {
    /// The lines at the start, for people and scripts: each one starts with a keyword.
    static func greeting(
        _ receiver: Receiver,
        _ configuration: ReceiverConfiguration,
        certificate: ServeCertificate?,
        printsQR: Bool = false
    ) -> String {
        let base = self.base(receiver.address, isSecure: configuration.certificate != nil)
        var lines: [String] = []
        if let directory = configuration.directory {
            lines.append("serving \(DisplayText.clean(directory)) at \(base)\(configuration.basePath)/")
        }
        for (path, offer) in zip(receiver.sharePaths, configuration.shares) {
            lines.append("share \(DisplayText.clean(offer.path)) at \(base)\(path)")
            if printsQR, let code = QRCode(base + path) {
                // White on black, whatever the colours of the terminal.
                lines += code.lines.map { "\u{1B}[97;40m\($0)\u{1B}[0m" }
            }
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
        guard configuration.listen.isLoopback else {
            guard configuration.certificate == nil else { return [] }
            return [
                "the connection is not encrypted: credentials and files can be read on the network; use "
                    + "--tls-self-signed"
            ]
        }
        // A proxy in front makes it reachable.
        guard configuration.basePath.isEmpty, configuration.trustedProxies.isEmpty, configuration.allowedHosts.isEmpty
        else { return [] }
        return [self.onlyHere(configuration)]
    }

    /// The line about an address that only this machine can reach, and how to be reachable.
    private static func onlyHere(_ configuration: ReceiverConfiguration) -> String {
        let what = configuration.shares.isEmpty ? "this address is" : "the addresses and links are"
        var options = "--listen 0.0.0.0:\(configuration.listen.port == 0 ? 8080 : configuration.listen.port)"
        if configuration.certificate == nil { options += " --tls-self-signed" }
        // A directory for everybody needs credentials there.
        if configuration.directory != nil, configuration.credentials.isEmpty { options += " --token-file FILE" }
        return "\(what) for this machine only; to be reachable for others, add \(options)"
    }

    private static func base(_ address: ListenAddress, isSecure: Bool) -> String {
        var address = address
        address.host = LocalAddress.reachable(for: address.host)
        return (isSecure ? "https://" : "http://") + address.description
    }
}
