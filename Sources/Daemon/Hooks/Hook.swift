internal import Control

/// What a command can be run on.
package enum Hook: String, Sendable, Hashable, CaseIterable {
    /// A transfer began to run.
    case start
    /// A file is whole and durable.
    case finish
    /// A transfer failed.
    case failure
    /// Nothing waits or runs any more.
    case drain
}

/// A hook's call: what the command is told.
struct HookCall: Sendable {
    let hook: Hook
    let record: TransferRecord?

    /// The hook's call for an event, where there is one.
    init?(_ event: ServiceEvent) {
        switch event {
        case .started(let record): self.init(.start, record)
        case .finished(let record): self.init(.finish, record)
        case .failed(let record): self.init(.failure, record)
        case .drained: self.init(.drain, nil)
        case .paused, .removed, .queued, .progress: return nil
        }
    }

    init(_ hook: Hook, _ record: TransferRecord?) {
        self.hook = hook
        self.record = record
    }

    /// The environment that the command gets beside the daemon's own.
    var environment: [String: String] {
        var variables = ["MARTLET_EVENT": self.hook.rawValue]
        guard let record = self.record else { return variables }
        variables["MARTLET_ID"] = record.id.description
        variables["MARTLET_STATE"] = record.state.rawValue
        variables["MARTLET_URL"] = record.urls.first ?? ""
        variables["MARTLET_KIND"] = record.upload == nil ? "download" : "upload"
        // A command that moves what has come must not move what was sent.
        variables["MARTLET_PATH"] = record.upload == nil ? record.path ?? "" : ""
        variables["MARTLET_SOURCE"] = record.upload?.files.first ?? ""
        variables["MARTLET_DIR"] = record.directory
        variables["MARTLET_BYTES"] = "\(record.bytes)"
        variables["MARTLET_TOTAL"] = record.total.map { "\($0)" } ?? ""
        variables["MARTLET_SESSION"] = record.session ?? ""
        variables["MARTLET_ERROR_CODE"] = record.failure.map { "\($0.code)" } ?? ""
        variables["MARTLET_ERROR"] = record.failure?.message ?? ""
        return variables
    }

    /// What the command reads: one JSON object and a line's end.
    var input: [UInt8] {
        let json: JSON = ["event": .string(self.hook.rawValue), "transfer": self.record?.json ?? .null]
        return json.bytes + [0x0A]
    }
}
