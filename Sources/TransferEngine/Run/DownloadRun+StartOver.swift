internal import Synchronization
internal import TransferCore

/// Beginning a file anew where what is there does not fit what the server has.
extension DownloadRun {
    /// What is there does not fit what the server has: begin anew, within a budget.
    func startOver(_ attempt: Attempt, _ reason: String, head: ResponseHead?) -> ReadDecision {
        if case .probe(let probe) = attempt.purpose, case .adopt = probe.then {
            self.attemptFailed(
                attempt,
                TransferFailure(
                    .cannotResume,
                    "the existing file is not the beginning of the server's: \(reason)",
                    setting: .existingFiles
                )
            )
            return .close
        }
        if case .stream = self.state.withLock({ $0.file }), self.transfer.memory.withLock({ $0.stream.count > 0 }) {
            self.attemptFailed(
                attempt,
                TransferFailure(.cannotResume, "the output cannot be taken back and cannot be gone on with: \(reason)")
            )
            return .close
        }
        if self.canDoWithout(attempt) {
            self.sourceDisagrees(attempt)
            return .close
        }
        let known = self.state.withLock { $0.facts }
        let (count, comparesBytes) = self.transfer.memory.withLock { memory -> (Int, Bool) in
            memory.startOvers += 1
            guard let head, let known, memory.startOvers > 1, !memory.tagsUnreliable, known.entityTag != nil,
                Self.totalLength(head) == known.length,
                ResponseJudge.agreement(head, with: known, ignoringTags: true) != .changed
            else { return (memory.startOvers, false) }
            memory.tagsUnreliable = true
            return (memory.startOvers, true)
        }
        guard count <= Self.startOverLimit else {
            self.attemptFailed(
                attempt,
                TransferFailure(.badResponse, "\(reason); begun anew \(Self.startOverLimit) times already")
            )
            return .close
        }
        if comparesBytes {
            // Only the tag changed, and not for the first time: let the bytes themselves tell.
            self.note("the entity tag changes with every answer: bytes are compared instead")
            self.attemptFailed(attempt, TransferFailure(.badResponse, reason, isRetryable: true))
            return .close
        }
        self.note("\(reason): starting over")
        let others: [Attempt]? = self.state.withLock { state in
            guard state.phase != .ending, state.phase != .committing, !attempt.isOver else { return nil }
            if case .stream = state.file { state.phase = .active } else { state.phase = .opening }
            let others = state.attempts.filter { $0 !== attempt }
            for other in others { self.retire(&state, other) }
            state.heldSlot = attempt.slot
            attempt.slot = nil
            self.retire(&state, attempt)
            return others
        }
        guard let others else { return .close }
        self.beginAnew(closing: others)
        return .close
    }

    /// Throws away what is there and asks for the whole; the phase says so already.
    func beginAnew(closing others: [Attempt]) {
        self.transfer.memory.withLock { $0.provenSources = [] }
        self.quiesce(others) {
            self.line.run {
                let isAdopted = self.transfer.memory.withLock { memory in
                    defer { memory.isAdopted = false }
                    return memory.isAdopted
                }
                let file = self.state.withLock { state in
                    defer {
                        if case .partial = state.file { state.file = .none }
                        state.planner = nil
                        state.facts = nil
                        state.resumedFrom = 0
                        state.serverDigests = []
                    }
                    return state.file
                }
                if case .partial(let partial) = file {
                    if isAdopted { partial.setAside() } else { partial.discard() }
                }
                self.engine.transport.execute(onLane: self.lane) { self.launchFirst(.fetch) }
            }
        }
    }

    static let startOverLimit = 4

    private static func totalLength(_ head: ResponseHead) -> Int64? {
        if head.status == 206 { return head.fields["Content-Range"].flatMap { ContentRange($0) }?.total }
        if case .length(let length) = head.framing { return length }
        return nil
    }
}
