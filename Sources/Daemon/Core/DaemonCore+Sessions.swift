// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
package import Control
internal import Logging
internal import Martlet
internal import QueueStore
internal import Synchronization
package import TransferCore
internal import TransferEngine

extension DaemonCore {
    /// The maximum length of a session's identifier in bytes.
    private static let longestIdentifier = 200

    /// Opens a session for one program, or reopens it for the same instance.
    package func openSession(
        _ identifier: String,
        instance: String,
        program: String,
        configuration: JSON
    ) async throws(ControlError) -> SessionOpening {
        try Self.checkIdentifier(identifier)
        guard !instance.isEmpty, instance.utf8.count <= 200 else {
            throw ControlError(.badParameter, "'instance' is empty or longer than 200 bytes")
        }
        try Self.checkConfiguration(configuration)
        try self.checkHold(identifier, instance)
        // An earlier run of the program may have left commands; the response includes their transfers.
        await self.importSpools()
        let text = configuration.text
        let opened = try await self.change({ (writer) throws(QueueStoreError) in
            if try writer.reader.session(identifier)?.configuration != text {
                try writer.saveSession(identifier, configuration: text)
            }
            let transfers = try writer.reader.transfers(
                in: Set(TransferRecord.State.allCases).subtracting(TransferRecord.State.started),
                session: .some(identifier),
                offset: 0,
                limit: 100_000,
                fromEnd: false
            )
            return (try writer.reader.session(identifier), transfers)
        })
        // Another program may have opened the session in the meantime.
        try self.checkHold(identifier, instance)
        let stored = opened.0 ?? StoredSession(identifier: identifier, configuration: text, acknowledged: 0, last: 0)
        var state = self.sessions[identifier] ?? self.newSession(identifier, text)
        let isChanged = state.text != text
        // The store may be ahead of the stored events reported so far: only this wakes the current reader for them.
        let isAhead = stored.last > state.last
        state.configure(text)
        state.acknowledged = stored.acknowledged
        state.last = max(state.last, stored.last)
        state.handled(upTo: stored.acknowledged)
        state.lost = nil
        state.programName = program
        self.woken[identifier]?.hasOpened = true
        _ = state.hold.opened(instance, program, lease: self.configuration.sessionLease, at: self.now)
        self.sessions[identifier] = state
        if isAhead { state.reader?.wake() }
        self.configured(identifier, isChanged: isChanged)
        return SessionOpening(
            transfers: opened.1.map { self.record($0) },
            acknowledged: stored.acknowledged,
            last: stored.last
        )
    }

    /// Opens a session that no program holds, for the commands that an ended program left.
    ///
    /// - Parameters:
    ///   - identifier: The session's name.
    ///   - configuration: Its configuration.
    ///   - isReplaced: Whether it replaces the configuration of an existing session.
    /// - Throws: `badParameter`, `diskFull`, `storage`, `stopping`.
    func restoreSession(
        _ identifier: String,
        _ configuration: JSON,
        replacing isReplaced: Bool = false
    ) async throws(ControlError) {
        try Self.checkIdentifier(identifier)
        try Self.checkConfiguration(configuration)
        guard isReplaced || self.sessions[identifier] == nil else { return }
        let text = configuration.text
        try await self.change({ (writer) throws(QueueStoreError) in
            try writer.saveSession(identifier, configuration: text)
        })
        var state = self.sessions[identifier] ?? self.newSession(identifier, text)
        let isChanged = state.text != text
        state.configure(text)
        self.sessions[identifier] = state
        self.configured(identifier, isChanged: isChanged)
    }

    private static func checkIdentifier(_ identifier: String) throws(ControlError) {
        guard !identifier.isEmpty, identifier.utf8.count <= Self.longestIdentifier,
            identifier.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != 0x2F })
        else {
            throw ControlError(
                .badParameter,
                "'\(identifier.prefix(40))' is not a session identifier",
                remedy: "give 1 to \(Self.longestIdentifier) bytes without '/' and control characters"
            )
        }
    }

    private static func checkConfiguration(_ configuration: JSON) throws(ControlError) {
        do throws(TransferError) {
            _ = try SessionConfiguration(json: configuration)
        } catch {
            throw ControlError(.badParameter, error.message)
        }
    }

    /// Applies a session's configuration to its lane.
    private func configured(_ identifier: String, isChanged: Bool) {
        if let lane = self.lanes[identifier], isChanged {
            let settings = self.settings(identifier)
            lane.change(settings, renewsEngines: lane.settings.needsOtherEngines(for: settings))
            self.machine.setLimit(settings.engine.concurrentTransfers, of: identifier)
            self.added.clear()
            self.machine.restaged(identifier)
        } else if self.machine.counts(of: identifier).waiting > 0 {
            self.lane(identifier)
        }
        self.pump()
    }

    private func checkHold(_ identifier: String, _ instance: String) throws(ControlError) {
        guard let state = self.sessions[identifier],
            state.hold.isHeld(at: self.now, againstAnotherThan: instance)
        else { return }
        // The end of a killed program's connection may be observed after the next program has connected.
        if let holder = state.hold.instance.flatMap({ ProgramProcess(instance: $0) }), holder.isGone {
            self.sessions[identifier]?.hold.closed()
            return
        }
        throw Self.inUse(identifier, state.hold.program)
    }

    private static func inUse(_ identifier: String, _ program: String?) -> ControlError {
        ControlError(
            .sessionInUse,
            "the session '\(identifier)' is open in \(program ?? "another program")",
            remedy: "close it there, or open another session"
        )
    }

    static func noSession(_ identifier: String) -> ControlError {
        ControlError(.notFound, "the session '\(identifier)' does not exist", remedy: "open it first")
    }

    /// Returns the session's events after a number: stored events first, then new ones.
    package func sessionEvents(
        _ identifier: String,
        instance: String,
        after: Int64
    ) async throws(ControlError) -> AsyncStream<SessionEvent> {
        guard !self.isStopping else { throw Self.stopping }
        guard let state = self.sessions[identifier] else {
            throw Self.noSession(identifier)
        }
        let number = self.nextReader
        self.nextReader += 1
        guard self.sessions[identifier]?.hold.readingBegan(instance, by: number, at: self.now) == true else {
            throw Self.inUse(identifier, state.hold.program)
        }
        let reader = SessionReader(number: number, session: identifier, store: self.store, after: after)
        state.reader?.finish()
        self.sessions[identifier]?.reader = reader
        // Only the stream retains this: when the stream is released, the program has disconnected.
        let end = CallOnce { [weak self] in
            reader.finish()
            Task { await self?.readingEnded(identifier, number) }
        }
        return AsyncStream(
            unfolding: {
                let event = await reader.next()
                if event == nil { end.now() }
                return event
            },
            onCancel: { end.now() }
        )
    }

    private func readingEnded(_ identifier: String, _ number: Int) {
        let process = self.sessions[identifier]?.hold.instance.flatMap { ProgramProcess(instance: $0) }
        self.sessions[identifier]?.hold.readingEnded(by: number)
        guard self.sessions[identifier]?.reader?.number == number else { return }
        self.sessions[identifier]?.lost = process.map { (process: $0, at: self.now) }
        self.sessions[identifier]?.reader = nil
        self.configuration.logger.debug("the reader of the session \(identifier) has disconnected")
    }

    /// Deletes the session's events up to a number, inclusive.
    package func acknowledge(_ identifier: String, upTo number: Int64) async throws(ControlError) {
        guard self.sessions[identifier] != nil else {
            throw Self.noSession(identifier)
        }
        // The store decides which events exist: a reader may have them before the store's report reaches this core.
        let last = try await self.change(
            { (writer) throws(QueueStoreError) in
                let last = try writer.reader.session(identifier)?.last ?? 0
                if number >= 0, number <= last { try writer.acknowledge(session: identifier, upTo: number) }
                return last
            },
            touching: { _ in [identifier] }
        )
        guard number >= 0, number <= last else {
            throw ControlError(.badParameter, "the event \(number) does not exist; the last event is \(last)")
        }
        if let known = self.sessions[identifier]?.acknowledged {
            self.sessions[identifier]?.acknowledged = max(known, number)
            self.sessions[identifier]?.handled(upTo: number)
        }
        self.publish()
    }

    /// Closes a session: removes its transfers or leaves them running; deletes the session if it is empty.
    package func closeSession(
        _ identifier: String,
        instance: String,
        keepsTransfers: Bool
    ) async throws(ControlError) {
        guard self.sessions[identifier] != nil else {
            throw ControlError(.notFound, "the session '\(identifier)' does not exist")
        }
        try self.checkHold(identifier, instance)
        if !keepsTransfers {
            _ = try await self.perform(.remove(deletesPartial: true), on: .all(session: identifier))
        }
        let unfinished = self.machine.counts(of: identifier).unfinished
        let state = self.sessions[identifier]
        let isEmpty = state.map { $0.last <= $0.acknowledged } ?? true
        if unfinished == 0, !keepsTransfers || isEmpty {
            // No event is written for this session from now on: that would create the session again.
            self.sessions[identifier] = nil
            do throws(ControlError) {
                try await self.change({ (writer) throws(QueueStoreError) in try writer.removeSession(identifier) })
            } catch {
                self.sessions[identifier] = state
                // Its program may have ended meanwhile.
                if self.woken[identifier] == nil { self.sessions[identifier]?.wake.exited(at: self.uptime) }
                throw error
            }
            self.machine.forget(identifier)
            state?.reader?.finish()
            self.lanes[identifier] = nil
            self.publish()
        } else {
            self.sessions[identifier]?.hold.closed()
            self.sessions[identifier]?.reader?.finish()
            self.sessions[identifier]?.reader = nil
        }
    }

    /// Returns all sessions.
    package func sessions() async throws(ControlError) -> [SessionSummary] {
        guard !self.isStopping else { throw Self.stopping }
        let now = self.now
        return self.sessions.sorted { $0.key < $1.key }
            .map { identifier, state in
                SessionSummary(
                    identifier: identifier,
                    unfinished: self.machine.counts(of: identifier).unfinished,
                    unacknowledged: Int(clamping: max(0, state.last - state.acknowledged)),
                    program: state.hold.isHeld(at: now) ? state.hold.program : nil,
                    wake: state.wakeSummary
                )
            }
    }

    // MARK: Session events

    /// Records that an event of a session is stored, and wakes the session's reader.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - number: The event's number.
    ///   - isEnd: Whether a transfer ended.
    func stored(_ session: String, _ number: Int64, isEnd: Bool = true) {
        if isEnd { self.sessions[session]?.wake.endStored(number, at: self.uptime) }
        guard let last = self.sessions[session]?.last, number > last else { return }
        self.sessions[session]?.last = number
        self.sessions[session]?.reader?.wake()
    }

    /// Reads the number of a session's last event, after transfers were removed.
    func lookAtEvents(_ session: String) async {
        let stored = try? await self.read { (reader) throws(QueueStoreError) in try reader.session(session) }
        if let last = stored?.last { self.stored(session, last) }
    }

    /// Passes a transient event to the session's reader, if there is one.
    func pass(_ session: String?, _ id: GID, _ event: @autoclosure () -> JSON) {
        guard let session, let reader = self.sessions[session]?.reader else { return }
        reader.put(id, event())
    }
}
