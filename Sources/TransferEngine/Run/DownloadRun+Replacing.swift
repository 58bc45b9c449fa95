internal import Synchronization
internal import TransferCore

/// Handles responses that carry the whole representation, and replaces held bytes by them.
extension DownloadRun {
    func receivedWhole(_ attempt: Attempt, _ head: ResponseHead, _ length: Int64?) -> ReadDecision {
        self.decide(attempt, head, length) {
            switch self.state.withLock({ $0.file }) {
            case .none: return self.openFile(attempt, head, length)
            case .small: return .close
            case .stream: return self.wholeForStream(attempt, head, length)
            case .partial: return self.wholeInsteadOfPart(attempt, head, length)
            case .existing(let existing):
                if self.request.expected.isEmpty, self.isCurrent(existing, head) {
                    self.skip(self.state.withLock { $0.target }, size: existing.size, except: attempt)
                    return .close
                }
                return self.restart(attempt, "the server does not send parts")
            }
        }
    }

    /// Handles a whole response while bytes of the file are held.
    func wholeInsteadOfPart(_ attempt: Attempt, _ head: ResponseHead, _ length: Int64?) -> ReadDecision {
        let response = self.facts(of: head, from: attempt, length: length)
        let (held, context, hasOthers, isUnreliable) = self.state.withLock { state in
            (
                state.facts ?? response, self.context(state, attempt), state.attempts.count > 1,
                state.facts?.isUnreliable ?? false
            )
        }
        let takesSingleResponse = self.transfer.memory.withLock { $0.takesSingleResponse }
        var replacement = VersionJudge.replacement(by: response, of: held, context)
        if case .same = replacement, attempt.sentIfRange {
            // The server responds as if the file had changed, although the validator is the same.
            self.transfer.memory.withLock { $0.omitsIfRange = true }
            if hasOthers { self.dismiss(attempt, isRefusal: false) } else { self.relaunch(attempt) }
            return .close
        }
        let isSuspicious = if case .suspicious = replacement { true } else { false }
        if attempt.sentIfRange, !hasOthers, !isUnreliable, !isSuspicious,
            VersionJudge.relation(of: response, to: held, context) == .comparable
        {
            // Nodes may generate different tags: without the condition the server sends a part, to be compared.
            self.transfer.memory.withLock { memory in
                memory.omitsIfRange = true
                memory.wantsOverlap = true
            }
            self.relaunch(attempt)
            return .close
        }
        if hasOthers {
            self.dismiss(attempt, isRefusal: true)
            return .close
        }
        if isUnreliable || takesSingleResponse, case .same = replacement {
            replacement = .restart(Self.alternation(held))
        }
        let isEmpty = self.state.withLock { $0.planner?.completed ?? 0 } == 0
        switch replacement {
        case .same(let consistency) where !isEmpty:
            return self.passOver(attempt, head, response, consistency)
        case .same: return self.replace(attempt, head, response, of: held, beside: false)
        case .restart(let reason):
            if self.state.withLock({ $0.isForeign }), !self.request.nameIsExact { return self.decline(attempt, reason) }
            if self.canDoWithout(attempt) { return self.sourceDisagrees(attempt) }
            if !isEmpty {
                // A response to a restart is counted already.
                if !self.state.withLock({ $0.requestsWhole }), !self.mayRestart(reason) { return .close }
                self.note("\(reason): restarting")
            }
            return self.replace(attempt, head, response, of: held, beside: false)
        case .suspicious(let reason):
            let failure = TransferFailure(
                .badResponse,
                "\(reason); what was received before is kept",
                remedy: "log in to the network, or try later",
                isRetryable: true
            )
            self.attemptFailed(attempt, failure)
            return .close
        case .beside(let reason):
            if isEmpty { return self.replace(attempt, head, response, of: held, beside: false) }
            if self.canDoWithout(attempt) { return self.sourceDisagrees(attempt) }
            if !self.state.withLock({ $0.requestsWhole }), !self.mayRestart(reason) { return .close }
            self.note("\(reason): restarting beside what was received before")
            return self.replace(attempt, head, response, of: held, beside: true)
        }
    }

    /// Handles a whole response of the same version: skips the held bytes at its beginning.
    private func passOver(
        _ attempt: Attempt,
        _ head: ResponseHead,
        _ response: ResourceFacts,
        _ consistency: Consistency
    ) -> ReadDecision {
        self.note("the server does not send parts: passing over what was received before")
        self.transfer.memory.withLock { memory in
            memory.rangesRefused = true
            memory.rangesProven = false
        }
        let isTaken = self.state.withLock { state in
            guard !attempt.isOver, let planner = state.planner else { return false }
            let prefix = planner.heldPrefix
            state.planner = SegmentPlanner(length: response.length ?? planner.length, have: [0..<prefix])
            _ = state.planner?.assign(to: attempt.number, minimumSplit: Int64.max / 4)
            state.requestsWhole = false
            attempt.range = nil
            attempt.overlap = 0
            attempt.repeated = prefix
            attempt.basis = consistency
            attempt.facts = response
            attempt.isTaken = true
            attempt.responseEnd = response.length
            state.hasTaken = true
            return self.acceptRange(&state, attempt)
        }
        guard isTaken else {
            self.attemptFailed(
                attempt,
                TransferFailure(.fileIO, "the response does not fit the file", isRetryable: true)
            )
            return .close
        }
        // Nothing shows that the server honours ranges.
        self.transfer.memory.withLock { $0.rangesProven = false }
        self.report(head, response.length)
        guard self.state.withLock({ $0.planner?.isComplete ?? false }) else { return .read }
        // Every byte is held already.
        self.state.withLock { self.retire(&$0, attempt) }
        self.commit()
        return .close
    }

    /// Replaces the held bytes by a whole response; reading pauses until the file is created.
    func replace(
        _ attempt: Attempt,
        _ head: ResponseHead,
        _ response: ResourceFacts,
        of held: ResourceFacts,
        beside: Bool,
        part: ByteRange? = nil
    ) -> ReadDecision {
        let facts = VersionJudge.successor(response, of: held)
        let target = self.take(facts, head, attempt, part: part)
        let older: (any PartialFile)? = self.state.withLock { state in
            guard !attempt.isOver, case .partial(let file) = state.file else { return nil }
            if beside { state.olderPartial = (target, state.planner?.completed ?? 0) }
            state.file = .none
            state.planner = nil
            state.resumedFrom = 0
            state.isForeign = false
            // The response does not continue the user's existing file, which therefore keeps its name.
            if state.ifExists == .resume { state.overwrite = false }
            state.phase = .opening
            attempt.isHeld = true
            attempt.range = nil
            attempt.overlap = 0
            return file
        }
        guard let older else { return .close }
        self.report(head, response.length)
        self.line.run {
            if beside { older.keep() } else { older.discard() }
            self.makePartial(attempt, beside ? Self.besideTarget(target) : target, facts)
        }
        return .pause
    }

    /// The name of a second partial file.
    static func besideTarget(_ target: FileTarget) -> FileTarget {
        FileTarget(directory: target.directory, name: target.name + ".new")
    }

    /// Keeps the longer of two partial files; called on the run's line while neither is open.
    func settleOlderPartial(isCancelled: Bool) {
        let (older, bytes) = self.state.withLock { state in
            defer { state.olderPartial = nil }
            return (state.olderPartial, state.planner?.completed ?? 0)
        }
        guard let older else { return }
        let newer = Self.besideTarget(older.target)
        if isCancelled || bytes > older.bytes { try? self.engine.store.discardPartial(older.target) }
        if !isCancelled, bytes > older.bytes {
            try? self.engine.store.movePartial(newer, to: older.target)
        } else {
            try? self.engine.store.discardPartial(newer)
        }
    }
}
