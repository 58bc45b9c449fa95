internal import Control

/// The events on which a user's command can be run.
package enum Hook: String, Sendable, Hashable, CaseIterable {
    /// A transfer started to run.
    case start
    /// A transfer finished: its file is complete and durable.
    case finish
    /// A transfer failed.
    case failure
    /// No transfer waits or runs any more.
    case drain
}

/// One call of a hook: the event and transfer that the command receives.
struct HookCall: Sendable {
    let hook: Hook
    let record: TransferRecord?

    /// Creates the call for an event, or returns `nil` if the event has no hook.
    init?(_ event: ServiceEvent) {
        switch event {
        case .started(let record): self.init(.start, record)
        case .finished(let record): self.init(.finish, record)
        case .failed(let record): self.init(.failure, record)
        case .drained: self.init(.drain, nil)
        case .paused, .removed, .queued, .all, .progress: return nil
        }
    }

    init(_ hook: Hook, _ record: TransferRecord?) {
        self.hook = hook
        self.record = record
    }

    /// The command's environment variables, in addition to the daemon's own.
    var environment: [String: String] {
        var variables = ["MARTLET_EVENT": self.hook.rawValue]
        guard let record = self.record else { return variables }
        variables["MARTLET_ID"] = record.id.description
        variables["MARTLET_STATE"] = record.state.rawValue
        variables["MARTLET_URL"] = record.urls.first ?? ""
        variables["MARTLET_KIND"] = record.upload == nil ? "download" : "upload"
        // A command that moves downloaded files must not move uploaded ones.
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

    /// The command's standard input: one JSON object and a line feed.
    var input: [UInt8] {
        let json: JSON = ["event": .string(self.hook.rawValue), "transfer": self.record?.json ?? .null]
        return json.bytes + [0x0A]
    }
}
