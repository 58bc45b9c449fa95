// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Concurrency
internal import Control
internal import HTTPTransport
internal import Logging
internal import Synchronization
internal import TransferEngine

internal import Platform

/// The connection to the daemon: starting the daemon, opening the session, reading, writing and reconnecting.
extension BackgroundRunner {
    /// Runs until it is cancelled, closed, or refused.
    ///
    /// - Parameter started: The daemon that was just started, if one was.
    func run(_ started: StartedDaemon?) async {
        var started = started
        var delay = Duration.milliseconds(100)
        let beginning = ContinuousClock.now
        let patience = ContinuousClock.now + self.patience
        var misses = 0
        while !Task.isCancelled {
            let client = ControlClient(self.place, on: SharedRuntime.loops.next)
            defer { client.close() }
            var isOpened = false
            do {
                try await DaemonLauncher(executable: self.daemonPath).startIfNeeded(client, after: started)
                started = nil
                try await self.open(client)
                isOpened = true
                delay = .milliseconds(100)
                misses = 0
                try await self.serve(client)
                return
            } catch {
                guard !Task.isCancelled, !self.hasLeft else { return }
                let error = error as? ControlError ?? ControlError(.unknown, "\(error)")
                self.state.withLock { state in
                    state.outbox.lost()
                    state.isCloseSent = false
                }
                // If it was open a moment ago, only the next opening can show whether another program has it.
                let isPatient =
                    error.code == .sessionInUse
                    && (isOpened || ContinuousClock.now < patience || OpenSessions.mayBeLeft(self))
                // It may be in the middle of an update; waiting for it has no other use.
                let isMissing =
                    error.code == .notInstalled && !self.wasOpened && ContinuousClock.now > beginning + .seconds(2)
                guard isPatient || !(isMissing || Self.isFinal(error)) else { return self.fail(TransferError(error)) }
                misses += 1
                // A daemon that is stopping is replaced by a new one: the failure is reported only if it persists.
                self.missed(error, isTold: misses >= Self.missesTold)
            }
            try? await Task.sleep(for: delay)
            delay = min(delay * 2, .seconds(10))
        }
    }

    private var hasLeft: Bool {
        self.state.withLock { state in if case .left = state.standing { true } else { false } }
    }

    private var wasOpened: Bool {
        self.state.withLock { state in if case .opening = state.standing { false } else { true } }
    }

    private static func isFinal(_ error: ControlError) -> Bool {
        switch error.code {
        case .sessionInUse, .badParameter, .forbidden, .unauthorized, .unknownMethod, .protocolMismatch: true
        default: false
        }
    }

    private static func isLoss(_ error: ControlError) -> Bool {
        switch error.code {
        case .notRunning, .unreachable, .notInstalled, .stopping, .protocolMismatch, .unauthorized: true
        default: false
        }
    }

    // MARK: Opening

    func openingParameters(_ settings: SessionConfiguration) -> JSON {
        [
            "identifier": .string(self.identifier), "instance": .string(self.instance),
            "program": .string(Self.program), "configuration": settings.json,
        ]
    }

    private static var program: String {
        let name = CommandLine.arguments.first.flatMap { $0.split(separator: "/").last } ?? "a program"
        return "\(name) (pid \(getpid()))"
    }

    private func open(_ client: ControlClient) async throws(ControlError) {
        let settings = self.state.withLock { $0.settings }
        let answer = try await client.call("martlet.openSession", self.openingParameters(settings))
        let records = (answer["transfers"]?.array ?? []).compactMap { TransferRecord(json: $0) }
        let acknowledged = answer["acknowledged"]?.integer ?? 0
        let last = max(acknowledged, answer["last"]?.integer ?? acknowledged)
        let isFirst = self.state.withLock { state in
            state.acknowledged = acknowledged
            let isFirst = if case .opening = state.standing { true } else { false }
            // A daemon whose database was lost counts from 1 again.
            if isFirst || last < state.returned.received {
                state.returned = EventLedger(acknowledged: acknowledged)
                state.handled = EventLedger(acknowledged: acknowledged)
            }
            if isFirst { state.backlog = last > acknowledged ? .events(upTo: last) : .empty }
            return isFirst
        }
        self.adopt(records, isFirst: isFirst)
        let waiters = self.state.withLock { state in
            if isFirst { state.standing = .open }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter(nil) }
        self.session?.settle()
        self.tellFinishIfDue()
    }

    /// Calls a closure once the session is open, has failed, or the daemon could not be reached several times.
    func whenOpened(_ waiter: @escaping @Sendable (TransferError?) -> Void) {
        let now: TransferError?? = self.state.withLock { state in
            switch state.standing {
            case .opening:
                state.waiters.append(waiter)
                return nil
            case .open: return .some(nil)
            case .failed(let error): return error
            case .left: return .left
            }
        }
        if let now { waiter(now) }
    }

    /// Handles a failed attempt; another one follows.
    private func missed(_ error: ControlError, isTold: Bool) {
        self.logger?
            .warning(
                "the daemon of a background session is unreachable",
                metadata: [
                    "session": "\(self.identifier)", "error": "\(error)",
                ]
            )
        guard isTold else { return }
        let (waiters, leaving): ([@Sendable (TransferError?) -> Void], [@Sendable () -> Void]) = self.state.withLock {
            state in
            defer { state.waiters = [] }
            guard case .leaving(let callers) = state.closing else { return (state.waiters, []) }
            state.closing = .leaving([])
            return (state.waiters, callers)
        }
        for waiter in waiters { waiter(TransferError(error)) }
        for caller in leaving { caller() }
    }

    /// The number of consecutive failed attempts after which callers waiting for the opening get an error.
    private static let missesTold = 3

    /// Ends the session with an error.
    private func fail(_ error: TransferError) {
        self.logger?
            .error(
                "a background session cannot continue",
                metadata: [
                    "session": "\(self.identifier)", "error": "\(error)",
                ]
            )
        let (tasks, waiters, ending) = self.state.withLock { state in
            state.standing = .failed(error)
            defer {
                state.waiters = []
                state.entries = [:]
                state.outbox = Outbox()
                state.handOvers = []
                state.spool = nil
            }
            // Each of them ends with this error.
            state.spool?.remove()
            return (
                state.entries.values.map(\.task), state.waiters + state.handOvers.map(\.waiter), Self.takeEnding(&state)
            )
        }
        OpenSessions.left(self)
        for waiter in waiters { waiter(error) }
        for task in tasks { task.endInBackground(error) }
        if case .leaving(let callers) = ending.closing { for caller in callers { caller() } }
        guard let session = self.session else { return }
        for member in session.delegates.current { member.tell { $0.sessionDidFail(session, with: error) } }
        if case .finishing(let done) = ending.closing { done() }
        ending.whenClosed?()
    }

    /// Takes the closures to call at the end, once: if they were kept, they would keep the session alive.
    static func takeEnding(_ state: inout State) -> (closing: Closing?, whenClosed: (@Sendable () -> Void)?) {
        defer { (state.closing, state.whenClosed) = (nil, nil) }
        return (state.closing, state.whenClosed)
    }

    // MARK: Reading and writing

    /// Reads events and sends commands until the connection is lost, or the session was closed.
    private func serve(_ client: ControlClient) async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                do throws(ControlError) {
                    try await self.read(client)
                } catch {
                    guard self.isCloseSent else { throw error }
                }
                return false
            }
            group.addTask {
                try await self.send(client)
                return true
            }
            defer { group.cancelAll() }
            while let isClosed = try await group.next() {
                if isClosed { return }
                // If the session is closed, the daemon ends its stream, and its response is about to arrive.
                guard self.isCloseSent else {
                    throw ControlError(.unreachable, "the daemon ended the session's stream")
                }
            }
        }
    }

    private var isCloseSent: Bool { self.state.withLock { $0.isCloseSent } }

    private func read(_ client: ControlClient) async throws(ControlError) {
        let after = self.state.withLock { $0.returned.received }
        let path = ControlClient.sessionEventsPath(self.identifier, instance: self.instance, after: after)
        let events = try await client.events(path: path)
        while let event = try await events.next() {
            // Waits until there is a recipient; the connection meanwhile shows the daemon that the program is running.
            while !self.state.withLock({ $0.mayDeliver }) {
                await self.delivering.wait()
                if Task.isCancelled { return }
            }
            await self.received(event.number ?? 0, event.data)
        }
    }

    private enum Step {
        case commands([Outbox.Command])
        case acknowledge(Int64)
        case close(keepsTransfers: Bool)
        case wait
    }

    private func send(_ client: ControlClient) async throws(ControlError) {
        while !Task.isCancelled {
            switch self.state.withLock({ self.nextStep(&$0) }) {
            case .commands(let commands): try await self.send(commands, client)
            case .acknowledge(let number):
                _ = try await client.call(
                    "martlet.acknowledge",
                    ["identifier": .string(self.identifier), "upTo": .integer(number)]
                )
                self.state.withLock { $0.acknowledged = max($0.acknowledged, number) }
            case .close(let keepsTransfers):
                self.state.withLock { $0.isCloseSent = true }
                _ = try await client.call(
                    "martlet.closeSession",
                    [
                        "identifier": .string(self.identifier), "instance": .string(self.instance),
                        "keepTransfers": .bool(keepsTransfers),
                    ]
                )
                return self.closed()
            case .wait: await self.sending.wait()
            }
        }
    }

    private func nextStep(_ state: inout State) -> Step {
        if case .cancelling = state.closing { return .close(keepsTransfers: false) }
        if let commands = state.outbox.next() { return .commands(commands) }
        let wish = self.mode == .automatically ? state.handled.handled : state.wish
        if wish > state.acknowledged { return .acknowledge(wish) }
        if case .finishing = state.closing, state.outbox.isEmpty,
            self.mode == .manually || state.acknowledged >= state.handled.received
        {
            return .close(keepsTransfers: true)
        }
        if case .leaving = state.closing, state.outbox.isEmpty { return .close(keepsTransfers: true) }
        return .wait
    }

    private func send(_ commands: [Outbox.Command], _ client: ControlClient) async throws(ControlError) {
        do throws(ControlError) {
            switch commands.first {
            case .add:
                let transfers = commands.compactMap { if case .add(let transfer) = $0 { transfer } else { nil } }
                _ = try await client.add(transfers)
            case .change(_, let kind, let parameters): _ = try await client.call(kind.method, parameters)
            case .configure(let parameters): _ = try await client.call("martlet.openSession", parameters)
            case .finishEvents(let parameters): _ = try await client.call("martlet.finishEvents", parameters)
            case nil: break
            }
            self.answered()
        } catch {
            if Self.isLoss(error) { throw error }
            if commands.count > 1 { return self.state.withLock { $0.outbox.divide() } }
            self.answered()
            self.refused(commands.first, error)
        }
    }

    /// Removes the commands in flight after the daemon's response.
    private func answered() {
        let waiters = self.state.withLock { state in
            let numbers = state.outbox.answered()
            state.spool?.answered(numbers, isAll: state.outbox.isEmpty)
            let done = state.outbox.done
            defer { state.handOvers.removeAll { $0.place <= done } }
            return state.handOvers.filter { $0.place <= done }.map(\.waiter)
        }
        for waiter in waiters { waiter(nil) }
    }

    /// Calls a closure once the daemon has responded to all commands given so far, or cannot do so.
    func whenHandedOver(_ waiter: @escaping @Sendable (TransferError?) -> Void) {
        let now: TransferError?? = self.state.withLock { state in
            switch state.standing {
            case .failed(let error): return error
            case .left: return .left
            case .opening, .open: break
            }
            if state.outbox.isEmpty { return .some(nil) }
            state.handOvers.append((state.outbox.end, waiter))
            return nil
        }
        if let now { waiter(now) }
    }

    private func refused(_ command: Outbox.Command?, _ error: ControlError) {
        guard case .add(let transfer) = command, let id = transfer.id else {
            self.logger?.debug("the daemon refused a change", metadata: ["error": "\(error)"])
            return
        }
        // It was executed on the first request, whose response was lost.
        if error.code == .duplicate { return }
        // The same code as in other sessions, and as for a file that has changed.
        let isUnreadable = transfer.upload?.files.contains { FileCalls.access($0, R_OK) != 0 } ?? false
        let failure =
            error.code == .badParameter && isUnreadable
            ? TransferError(.file, error.message, remedy: error.remedy) : TransferError(error)
        self.end(TransferID(id.rawValue), failure)
    }
}
