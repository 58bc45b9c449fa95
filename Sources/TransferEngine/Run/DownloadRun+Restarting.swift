internal import Synchronization
internal import TransferCore

/// Restarts files whose held bytes are not of the server's version.
extension DownloadRun {
    /// Requests the whole file, within a budget, because a response does not continue the held bytes.
    ///
    /// The held bytes are kept until a whole response replaces them.
    func restart(_ attempt: Attempt, _ reason: String) -> ReadDecision {
        let (file, held, isForeign) = self.state.withLock {
            ($0.file, $0.planner?.completed ?? 0, $0.isForeign)
        }
        switch file {
        case .existing:
            let failure = TransferFailure(
                .cannotResume,
                "the existing file is not the beginning of the server's: \(reason)",
                setting: .existingFiles
            )
            self.attemptFailed(attempt, failure)
            return .close
        case .stream where held > 0:
            self.attemptFailed(
                attempt,
                TransferFailure(.cannotResume, "the output cannot be taken back and cannot be continued: \(reason)")
            )
            return .close
        case .none, .small, .partial, .stream: break
        }
        if isForeign, !self.request.nameIsExact { return self.decline(attempt, reason) }
        if self.canDoWithout(attempt) { return self.sourceDisagrees(attempt) }
        // Without held bytes a first restart loses nothing, and is not counted.
        if held > 0 || self.state.withLock({ $0.requestsWhole }), !self.mayRestart(reason) { return .close }
        self.note("\(reason): requesting the whole")
        let others: [Attempt]? = self.state.withLock { state in
            guard state.phase != .ending, state.phase != .committing, !attempt.isOver else { return nil }
            let others = state.attempts.filter { $0 !== attempt }
            for other in others { self.retire(&state, other) }
            state.heldSlot = attempt.slot
            attempt.slot = nil
            self.retire(&state, attempt)
            state.requestsWhole = true
            state.awaitsFirst = true
            return others
        }
        guard let others else { return .close }
        self.quiesce(others) { self.launchFirstAfterClosing() }
        return .close
    }

    /// Counts a restart; ends the run if there were too many.
    func mayRestart(_ reason: String) -> Bool {
        let restarts = self.transfer.memory.withLock { memory in
            memory.restarts += 1
            return memory.restarts
        }
        guard restarts > Self.restartLimit else { return true }
        let facts = self.state.withLock { $0.facts }
        let versions = facts.map { Self.alternation($0) } ?? reason
        let message = versions == reason ? reason : "\(reason); \(versions)"
        self.end(
            .failed(
                TransferFailure(
                    .badResponse,
                    "\(message); restarted \(Self.restartLimit) times already",
                    remedy: "ask for one server, or give a digest with the URL"
                )
            ),
            except: nil
        )
        return false
    }

    /// Describes the versions observed at one URL.
    static func alternation(_ facts: ResourceFacts) -> String {
        let seen = facts.formerVersions + [VersionJudge.identity(facts)].compactMap(\.self)
        guard seen.count > 1 else { return "the file is to be of one response" }
        return "several versions are behind the address: \(seen.joined(separator: ", "))"
    }

    /// Declines to continue a partial file of another URL, because the response does not match it.
    ///
    /// The partial file is kept and another name is taken; if the user chose the name, the transfer fails.
    func decline(_ attempt: Attempt, _ reason: String) -> ReadDecision {
        let (target, url, isNamedByUser) = self.state.withLock { ($0.target, $0.facts?.url ?? "", $0.isNamedByUser) }
        let refusal = "\(target.path).part, begun from \(url), is not continued: \(reason)"
        if isNamedByUser {
            let failure = TransferFailure(
                .cannotResume,
                refusal,
                remedy: "move it away, or choose another name"
            )
            self.end(.failed(failure), except: attempt)
            return .close
        }
        let file: RunFile? = self.state.withLock { state in
            guard state.phase != .ending, !attempt.isOver else { return nil }
            defer {
                state.file = .none
                state.planner = nil
                state.facts = nil
                state.serverDigests = []
                state.isForeign = false
                state.awaitsFirst = false
                state.requestsWhole = false
                state.resumedFrom = 0
                state.phase = .locating
            }
            state.heldSlot = attempt.slot
            attempt.slot = nil
            self.retire(&state, attempt)
            return state.file
        }
        guard case .partial(let partial) = file else { return .close }
        self.note("\(refusal); using another name")
        self.line.run {
            partial.keep()
            self.takeNextName()
            self.engine.transport.execute(onLane: self.lane) { self.locate() }
        }
        return .close
    }

    static let restartLimit = 4
}
