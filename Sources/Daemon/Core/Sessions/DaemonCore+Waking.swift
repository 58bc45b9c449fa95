// SPDX-License-Identifier: Apache-2.0
package import Control
internal import Logging
internal import QueueStore
internal import TransferCore

/// The wake commands of sessions: ``WakeMachine`` decides, and this starts the programs and observes their ends.
extension DaemonCore {
    /// The time after which a running program that has not opened the session is reported, in seconds.
    private static let reportedAfter = 300.0

    /// Creates the state of a session that the core does not have yet.
    func newSession(_ identifier: String, _ text: String) -> SessionState {
        var state = SessionState(text: text, limits: self.configuration.wake)
        // The session may have been deleted while the program that was woken for it was running.
        if self.woken[identifier] != nil { state.wake.inherited() }
        return state
    }

    /// Observes the ends of woken programs, and starts the wake commands that are due.
    func wakePrograms(_ now: Double) {
        self.observeWoken(now)
        for (identifier, state) in self.sessions where !state.wakeCommand.isEmpty {
            let isComplete = self.machine.counts(of: identifier).waiting == 0
            let lease = self.configuration.sessionLease
            guard state.wake.isDue(at: self.uptime, isHeld: false, isComplete: isComplete),
                !state.isHeld(at: now, lease: lease)
            else { continue }
            self.wake(identifier, state.wakeCommand, now)
        }
    }

    private func wake(_ identifier: String, _ command: [String], _ now: Double) {
        let log: Logger.Metadata = ["session": "\(identifier)"]
        do throws(ControlError) {
            let child = try ChildProcess.start(
                command,
                environment: [
                    "MARTLET_SESSION": identifier, "MARTLET_STATE_DIR": self.configuration.stateDirectory,
                ]
            )
            child.write([])
            self.woken[identifier] = WokenProgram(child, at: now)
            self.sessions[identifier]?.wake.started()
            self.configuration.logger.info(
                "the wake command of a session was started",
                metadata: log.merging(["process": "\(child.id)"]) { $1 }
            )
            self.storeWoken()
        } catch {
            self.sessions[identifier]?.wake.startFailed(at: self.uptime)
            self.sessions[identifier]?.wakeProblem = error.description
            self.configuration.logger.warning(
                "the wake command of a session failed: \(error)",
                metadata: log.merging(
                    ["remedy": "set wakeCommand to the absolute path of a program, and open the session again"]
                ) { $1 }
            )
            self.logPause(identifier)
        }
    }

    // MARK: Ends

    private func observeWoken(_ now: Double) {
        for (identifier, program) in self.woken where !program.isEnding {
            if let end = program.end() {
                self.woken[identifier]?.isEnding = true
                Task {
                    // Handled events count, even if the program ended before the daemon responded.
                    await self.importSpools()
                    self.wokenEnded(identifier, end)
                }
            } else if !program.hasOpened, !program.isReported, now >= program.began + Self.reportedAfter {
                self.woken[identifier]?.isReported = true
                self.configuration.logger.warning(
                    "the program that was woken for a session runs, but has not opened the session",
                    metadata: ["session": "\(identifier)", "remedy": "it is not started again before it has ended"]
                )
            }
        }
    }

    private func wokenEnded(_ identifier: String, _ end: WokenProgram.End) {
        let log: Logger.Metadata = ["session": "\(identifier)", "end": "\(end)"]
        let hasOpened = self.woken.removeValue(forKey: identifier)?.hasOpened ?? false
        self.storeWoken()
        let before = self.sessions[identifier]?.wake.failures ?? 0
        self.sessions[identifier]?.wake.exited(at: self.uptime)
        let isFailure = (self.sessions[identifier]?.wake.failures ?? 0) > before
        switch end {
        case _ where isFailure:
            let what = hasOpened ? "without handling an event" : "without opening the session"
            self.sessions[identifier]?.wakeProblem = "the program ended \(what) (\(end))"
            self.configuration.logger.warning("the program that was woken for a session ended \(what)", metadata: log)
            self.logPause(identifier)
        case .child(.exited(0)), .adopted:
            self.configuration.logger.debug("the program that was woken for a session ended", metadata: log)
        case .child:
            self.configuration.logger.warning("the program that was woken for a session failed", metadata: log)
        }
    }

    private func logPause(_ identifier: String) {
        let log: Logger.Metadata = ["session": "\(identifier)"]
        switch self.sessions[identifier]?.wake.standing {
        case .pausing(let until):
            let seconds = max(0, until - self.uptime) / 1_000_000_000
            self.configuration.logger.info("the wake command is started again in \(seconds) s", metadata: log)
        case .exhausted:
            self.configuration.logger.warning(
                "the wake command is not started again until another transfer of the session ends",
                metadata: log
            )
        case .idle, .gathering, .running, nil: break
        }
    }

    /// Stores which programs run, for the next daemon if this one is killed.
    private func storeWoken() {
        let members = self.woken.sorted { $0.key < $1.key }.map { JSON.Member($0.key, $0.value.stored) }
        let text = members.isEmpty ? nil : JSON.object(members).text
        self.store.writeLater(
            { (writer) throws(QueueStoreError) in try writer.setSetting(SettingName.woken.rawValue, text) },
            done: { [logger = self.configuration.logger] result in
                if case .failure(let error) = result {
                    logger.debug("woken programs were not stored: \(error.message)")
                }
            }
        )
    }

    // MARK: Handled events

    /// Records that a program has handled its batch: all events up to a number.
    ///
    /// - Parameters:
    ///   - identifier: The session's name.
    ///   - number: The number of the batch's last event. It need not be acknowledged; the daemon then sends the events
    ///     again when the session is opened, but starts no program for them.
    ///   - acknowledged: The number up to which events are acknowledged, 0 for none.
    /// - Throws: `notFound`, and the errors of an acknowledgement.
    package func finishEvents(
        _ identifier: String,
        upTo number: Int64,
        acknowledging acknowledged: Int64
    ) async throws(ControlError) {
        if acknowledged > 0 { try await self.acknowledge(identifier, upTo: acknowledged) }
        guard let last = self.sessions[identifier]?.last else { throw Self.noSession(identifier) }
        self.sessions[identifier]?.handled(upTo: min(number, last))
    }
}

extension SessionState {
    /// The state of the wake command for ``SessionSummary``; `nil` if there is none.
    var wakeSummary: WakeSummary? {
        guard !self.wakeCommand.isEmpty else { return nil }
        let state: WakeSummary.State =
            switch self.wake.standing {
            case .idle: .idle
            case .gathering: .gathering
            case .running: .running
            case .pausing: .pausing
            case .exhausted: .exhausted
            }
        return WakeSummary(state: state, failures: self.wake.failures, problem: self.wakeProblem)
    }
}
