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
            case .existingFiles: "choose another way by --if-exists"
            case .resourceTimeout: "allow more by --max-time"
            case .connectTimeout: "give --connect-timeout more seconds"
            case .trust: "give --cacert FILE with its authority, or --pin with its key"
            case .credentials: "give them by --header"
            case .concurrency: "with fewer connections (-j, -x)"
            case .outageTimeout: "wait longer by --outage-timeout"
            }
        }
    }
}
