// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
import TransferEngine

extension TransferFailure {
    /// The message and how to fix the problem, with the names of the command's options.
    var textForCommand: String {
        let remedy = self.remedyForCommand
        return remedy.isEmpty ? self.message : "\(self.message); \(remedy)"
    }

    /// How to fix the problem, with the names of the command's options; may be empty.
    var remedyForCommand: String {
        self.remedy { setting in
            switch setting {
            case .existingFiles: "use --if-exists with overwrite, update, rename, resume or skip"
            case .runningDownloads: "wait for it with --if-running wait"
            case .resourceTimeout: "allow more time with --max-time"
            case .connectTimeout: "increase --connect-timeout"
            case .trust: "use --cacert FILE with its certificate authority, or --pin with its public key"
            case .credentials: "give them with --user, --netrc or --bearer-file"
            case .clientCertificate: "if the server requires a client certificate, give it with --cert and --key"
            case .concurrency: "with fewer connections (-j, -x)"
            case .addresses: "if it is meant, allow it with --allow-addresses"
            case .lowestRate: "allow a lower one with --min-rate"
            case .outageTimeout: "wait longer with --outage-timeout"
            }
        }
    }
}
