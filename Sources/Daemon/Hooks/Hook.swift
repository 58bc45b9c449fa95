// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// The events on which a user's command can be run.
package enum Hook: String, Sendable, Hashable, CaseIterable {
    /// A transfer started.
    case start
    /// A transfer finished: its file is complete and durable.
    case finish
    /// A transfer failed.
    case failure
    /// No transfer is waiting or running any more.
    case drain
}

/// The events on which aria2 runs a command, by the names of its options.
package enum Aria2Hook: String, Sendable, Hashable, CaseIterable {
    case start = "on-download-start"
    case pause = "on-download-pause"
    /// A download finished, failed or was removed; its own command replaces this one for the first two.
    case stop = "on-download-stop"
    case complete = "on-download-complete"
    case error = "on-download-error"
}

/// The user's commands.
package struct HookCommands: Sendable, Hashable {
    /// The arguments of `/bin/sh -c`.
    package var own: [Hook: String]
    /// Paths of programs, or names that are looked up in `PATH`, which get the arguments of aria2.
    package var aria2: [Aria2Hook: String]

    /// Creates the commands.
    package init(_ own: [Hook: String] = [:], aria2: [Aria2Hook: String] = [:]) {
        self.own = own
        self.aria2 = aria2
    }

    /// Whether the commands are empty.
    package var isEmpty: Bool { self.own.isEmpty && self.aria2.isEmpty }

    func calls(for event: ServiceEvent) -> [HookCall] {
        switch event {
        case .started(let record): self.calls(.start, [.start], record)
        case .finished(let record): self.calls(.finish, [.complete, .stop], record)
        case .failed(let record): self.calls(.failure, [.error, .stop], record)
        case .paused(let record): self.calls(nil, [.pause], record)
        case .removed(let record): self.calls(nil, [.stop], record)
        case .drained: self.calls(.drain, [], nil)
        case .queued, .all, .progress, .changed: []
        }
    }

    /// Returns the calls of an own hook and of the first of aria2's that has a command.
    private func calls(_ hook: Hook?, _ names: [Aria2Hook], _ record: TransferRecord?) -> [HookCall] {
        var calls: [HookCall] = []
        if let hook, let command = self.own[hook] { calls.append(HookCall(hook, command, record)) }
        // aria2 has neither uploads nor background sessions, whose programs handle their own events.
        if let record, record.session == nil, record.upload == nil,
            let name = names.first(where: { self.aria2[$0] != nil }),
            let program = self.aria2[name]
        {
            calls.append(HookCall(name, program, record))
        }
        return calls
    }
}

/// One call of a hook: the command, and the event and transfer that it receives.
struct HookCall: Sendable {
    /// The program and its arguments.
    let arguments: [String]
    /// The name of the event.
    let event: String
    let record: TransferRecord?

    /// Creates the call of a shell command.
    init(_ hook: Hook, _ command: String, _ record: TransferRecord?) {
        self.arguments = ["/bin/sh", "-c", command]
        self.event = hook.rawValue
        self.record = record
    }

    /// Creates the call of a program with aria2's arguments: the identifier, the number of files, and the path of the
    /// first file, empty while it is unknown.
    ///
    /// - Source: aria2c(1), "Event Hook".
    init(_ hook: Aria2Hook, _ program: String, _ record: TransferRecord) {
        // The shell finds the program as execvp(3) does; its arguments are not parsed.
        self.arguments = [
            "/bin/sh", "-c", #"exec "$0" "$@""#, program, record.id.description, "1", Aria2Status(record: record).path,
        ]
        self.event = hook.rawValue
        self.record = record
    }

    /// The command's environment variables, in addition to the daemon's own.
    var environment: [String: String] {
        var variables = ["MARTLET_EVENT": self.event]
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
        let json: JSON = ["event": .string(self.event), "transfer": self.record?.json ?? .null]
        return json.bytes + [0x0A]
    }
}
