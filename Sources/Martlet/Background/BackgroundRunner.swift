// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import TransferCore

internal import Concurrency
internal import Control
internal import Logging
internal import Synchronization
internal import TransferEngine

/// Runs a background session's transfers in the daemon.
///
/// No method here blocks: commands from tasks are queued in order, and ``run()`` sends them to the daemon as soon as
/// there is a connection.
final class BackgroundRunner: TransferRunner {
    /// A transfer whose end has not been delivered yet.
    struct Entry {
        let task: TransferTask
        var state: TransferState
        var bytes: Int64 = 0
        var total: Int64?
    }

    enum Standing {
        /// Not opened yet.
        case opening
        /// Was opened at least once.
        case open
        /// Cannot continue.
        case failed(TransferError)
        /// The session was released or closed.
        case left
    }

    /// How the session ends in the daemon.
    enum Closing {
        /// Its transfers are removed at once.
        case cancelling
        /// It is removed once all events are delivered and acknowledged.
        case finishing(@Sendable () -> Void)
        /// It is released once all commands were sent to the daemon or have failed; its transfers continue. Each caller
        /// that waits for that is called once.
        case leaving([@Sendable () -> Void])
    }

    struct State {
        var entries: [TransferID: Entry] = [:]
        var outbox = Outbox()
        /// The commands in a file that outlives the process; `nil` until there is one.
        var spool: CommandSpool?
        /// The callers that wait for the daemon's response to a number of commands, counted from the first.
        var handOvers: [(place: Int, waiter: @Sendable (TransferError?) -> Void)] = []
        var standing = Standing.opening
        /// The events whose calls have returned; `handled` also waits until their files were taken.
        var returned = EventLedger(acknowledged: 0)
        var handled = EventLedger(acknowledged: 0)
        var acknowledged: Int64 = 0
        /// The last event that the program acknowledged explicitly.
        var wish: Int64 = 0
        var mayDeliver = false
        /// The events from before the opening, until all of them are delivered.
        var backlog: Backlog?
        var isFinishDue = false
        var closing: Closing?
        /// Whether the closing was sent to the daemon, which then also ends the event stream.
        var isCloseSent = false
        /// Called when a session that is being cancelled is closed.
        var whenClosed: (@Sendable () -> Void)?
        var settings: SessionConfiguration
        var session: SessionReference
        var waiters: [@Sendable (TransferError?) -> Void] = []
        var work: Task<Void, Never>?
    }

    /// The events that existed when the session was opened.
    enum Backlog {
        /// All had been acknowledged.
        case empty
        /// Those up to a number.
        case events(upTo: Int64)
    }

    struct SessionReference: Sendable { weak let session: TransferSession? }

    let identifier: String
    let instance: String
    let place: StateDirectory
    let patience: Duration
    let mode: SessionConfiguration.AcknowledgementMode
    let daemonPath: String?
    let logger: Logger?
    let state: Mutex<State>
    /// Resumes sending.
    let sending = Signal()
    /// Starts the delivery of events.
    let delivering = Signal()

    /// Creates a runner; ``begin(for:)`` starts it.
    ///
    /// - Throws: ``TransferError`` with `badConfiguration` if the identifier or the state directory cannot be used.
    init(_ place: BackgroundPlace, _ configuration: SessionConfiguration) throws(TransferError) {
        guard Self.isIdentifier(place.identifier) else {
            throw TransferError(
                .badConfiguration,
                "'\(place.identifier)' is not a valid identifier for a background session",
                remedy:
                    "use 1 to 128 letters, digits, dots, hyphens and underscores, starting with a letter or a digit"
            )
        }
        if let command = configuration.wakeCommand.first, !command.hasPrefix("/") {
            throw TransferError(.badConfiguration, "the wake command '\(command)' is not an absolute path")
        }
        do throws(ControlError) {
            self.place = try StateDirectory(place.stateDirectory)
            try self.place.make()
        } catch {
            throw TransferError(.badConfiguration, error.message, remedy: error.remedy)
        }
        try TemporaryPlace.prepare(self.place.sessionsPath)
        self.identifier = place.identifier
        self.patience = place.patience
        // With the process identifier the daemon can recognize a session held by a program that was killed.
        self.instance = "\(getpid())-" + Hexadecimal.encode((0..<16).map { _ in UInt8.random(in: 0...255) })
        self.mode = configuration.acknowledgesEvents
        self.daemonPath = configuration.daemonPath
        self.logger = configuration.logger
        self.state = Mutex(State(settings: configuration, session: SessionReference(session: nil)))
    }

    private static func isIdentifier(_ text: String) -> Bool {
        func isWord(_ byte: UInt8) -> Bool {
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        }
        return (1...128).contains(text.utf8.count) && text.utf8.first.map(isWord) == true
            && text.utf8.allSatisfy { isWord($0) || $0 == 0x2D || $0 == 0x2E || $0 == 0x5F }
    }

    /// The directory for downloads without a destination.
    var container: String { self.place.sessionsPath + "/" + self.identifier }

    /// Connects, and runs until ``leave()``.
    ///
    /// A missing daemon is started here, and not only by ``run()``: the program may end right after its first command.
    func begin(for session: TransferSession) {
        let started = DaemonLauncher(executable: self.daemonPath).startDetached(self.place)
        OpenSessions.opened(self)
        self.state.withLock { state in
            state.session = SessionReference(session: session)
            state.work = Task { await self.run(started) }
        }
    }

    /// Disconnects from the daemon, which continues the transfers.
    ///
    /// The daemon performs the commands without a response when it finds the spool without its program.
    func leave() {
        let (work, waiters) = self.state.withLock { state in
            state.standing = .left
            state.entries = [:]
            defer {
                state.work = nil
                state.waiters = []
                state.handOvers = []
                state.spool = nil
            }
            if state.outbox.isEmpty { state.spool?.remove() }
            return (state.work, state.waiters + state.handOvers.map(\.waiter))
        }
        work?.cancel()
        OpenSessions.left(self)
        for waiter in waiters { waiter(.left) }
    }

    var session: TransferSession? { self.state.withLock { $0.session.session } }

    // MARK: Called by tasks

    func add(_ task: TransferTask) throws(TransferError) -> TransferID { try self.add(task, isHeld: false) }

    /// Adds a task's transfer.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - isHeld: Whether it is added paused, until the task's time has come.
    /// - Returns: The transfer.
    /// - Throws: ``TransferError`` if the daemon cannot run it, or it cannot be stored.
    func add(_ task: TransferTask, isHeld: Bool) throws(TransferError) -> TransferID {
        let gid = GID.random()
        let id = TransferID(gid.rawValue)
        let transfer = try BackgroundTransfer.new(task, id: gid, session: self.identifier, isHeld: isHeld)
        let failure: TransferError? = self.state.withLock { state in
            switch state.standing {
            case .failed(let error): return error
            case .left: return .left
            case .opening, .open: break
            }
            do throws(ControlError) {
                try self.put(.add(transfer), &state)
            } catch {
                return TransferError(error)
            }
            state.entries[id] = Entry(task: task, state: isHeld ? .paused : .waiting)
            return nil
        }
        if let failure { throw failure }
        self.beginDelivery()
        self.sending.send()
        return id
    }

    /// Puts a command into the session's spool, where it survives the process, and then into the outbox.
    ///
    /// - Throws: ``ControlError`` if the spool cannot be written; then the command is in neither.
    private func put(_ command: Outbox.Command, _ state: inout State) throws(ControlError) {
        let spool: CommandSpool
        if let made = state.spool {
            spool = made
        } else {
            spool = try CommandSpool.make(
                in: self.place.spoolsPath,
                name: "\(self.identifier).\(self.instance)",
                opening: self.openingParameters(state.settings)
            )
            state.spool = spool
        }
        try spool.append(Outbox.spooled(command, number: state.outbox.nextNumber))
        state.outbox.put(command)
    }

    /// Puts a change into the outbox, and into the spool if that can be written.
    func putChange(_ command: Outbox.Command, _ state: inout State) {
        do throws(ControlError) {
            try self.put(command, &state)
        } catch {
            self.logger?.warning("a change of a background session is not on disk", metadata: ["error": "\(error)"])
            state.outbox.put(command)
        }
    }

    /// Stores the time for which a paused transfer is held; `nil` if it is suspended.
    func setBegin(_ time: Double?, of id: TransferID) {
        guard let task = self.state.withLock({ $0.entries[id]?.task }) else { return }
        let text = BackgroundTransfer.Extra(task, begin: time).text
        self.change(id, .info, [.init("options", .object([.init(OptionName.userInfo.rawValue, .string(text))]))])
    }

    func pause(_ id: TransferID) { self.change(id, .running("martlet.pause"), state: .paused) }

    func resume(_ id: TransferID) { self.change(id, .running("martlet.resume"), state: .waiting) }

    func cancel(_ id: TransferID, keeping: Bool) {
        self.change(id, .removal, [.init("deletePartial", .bool(!keeping))])
    }

    /// The transfer stays in the daemon for a later run of the program.
    func abandon(_ id: TransferID) {}

    func state(of id: TransferID) -> TransferState? { self.state.withLock { $0.entries[id]?.state } }

    func progress(of id: TransferID) -> (bytes: Int64, total: Int64?)? {
        self.state.withLock { state in state.entries[id].map { ($0.bytes, $0.total) } }
    }

    /// The daemon's events have the reason of a wait.
    func hold(of task: TransferTask) -> HostHold? { nil }

    func setPriority(_ priority: Priority, of id: TransferID) {
        let number = Int64(BackgroundTransfer.number(priority))
        self.change(id, .priority, [.init("priority", .integer(number))])
    }

    func setRateLimit(_ rate: Int64?, of id: TransferID) {
        let isUpload = self.state.withLock { $0.entries[id]?.task is UploadTask }
        let name = (isUpload ? OptionName.maxUploadLimit : .maxDownloadLimit).rawValue
        let options = JSON.object([.init(name, .string("\(rate ?? 0)"))])
        self.change(id, .options, [.init("options", options)])
    }

    private func change(
        _ id: TransferID,
        _ kind: Outbox.Command.Kind,
        _ more: [JSON.Member] = [],
        state newState: TransferState? = nil
    ) {
        guard let gid = GID(rawValue: id.rawValue) else { return }
        var members: [JSON.Member] = [.init("session", .string(self.identifier))]
        switch kind {
        case .options, .info: members.append(.init("id", .string(gid.description)))
        case .running, .priority, .removal: members.append(.init("ids", [.string(gid.description)]))
        }
        self.state.withLock { state in
            // A transfer that has ended cannot change any more; its end is about to be delivered.
            switch state.entries[id]?.state {
            case nil, .finished, .failed, .cancelled: return
            case .waiting, .retrying, .running, .paused: break
            }
            if let newState { state.entries[id]?.state = newState }
            self.putChange(.change(id, kind, .object(members + more)), &state)
        }
        self.sending.send()
    }

    // MARK: Called by the session

    var runningCount: Int {
        self.state.withLock { state in state.entries.values.count { $0.state == .running } }
    }

    func setConcurrentTransfers(_ count: Int) { self.configure { $0.concurrentTransfers = max(1, count) } }
    func setConnectionsPerHost(_ count: Int) { self.configure { $0.connectionsPerHost = max(1, count) } }
    func setRateLimit(_ rate: Int64?) { self.configure { $0.rateLimit = rate } }

    private func configure(_ change: (inout SessionConfiguration) -> Void) {
        self.state.withLock { state in
            change(&state.settings)
            self.putChange(.configure(self.openingParameters(state.settings)), &state)
        }
        self.sending.send()
    }
}

extension TransferError {
    static let noDataInBackground = TransferError(
        .badRequest,
        "a background session has no data tasks: bytes cannot be delivered to a program that may have exited",
        remedy: "use a download task or another session"
    )

    static let noBytesInBackground = TransferError(
        .badRequest,
        "an upload in a background session sends files and at most 1 MiB of other bytes: the program may exit",
        remedy: "write the content to a file"
    )

    static let left = TransferError(.invalidated, "the background session was released", remedy: "open it again")
}
