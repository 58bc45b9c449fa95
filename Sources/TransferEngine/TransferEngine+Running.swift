// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import Synchronization
internal import TransferCore

/// Handling the ends of runs, and syncing files in groups.
extension TransferEngine {
    func runEnded(_ run: any TransferRun, _ reported: RunOutcome) {
        let now = self.time.now
        let transfer = run.transfer
        var (outcome, delay): (RunOutcome, Int64?) = (reported, nil)
        if let policy = transfer.policy, policy.decidesRetries {
            (outcome, delay) = self.decided(reported, transfer, policy)
        }
        let tally = EngineMachine.Tally(run.tally, outcome, of: transfer, duration: now - run.startedAt)
        let result = self.result(of: outcome, transfer, delay)
        let verdict = self.state.withLock { state in
            state.runs[transfer.id] = nil
            if !state.claims.isEmpty { state.claims = state.claims.filter { $0.value.id != transfer.id } }
            let verdict = state.machine.runEnded(transfer.id, result, tally, now: now)
            self.conclude(&state, transfer, verdict, outcome)
            return verdict
        }
        // A run that ended for another reason has kept its partial file.
        if case .cancelled(let keeping) = verdict, !outcome.isCancellation {
            self.abandon(transfer, keeping: keeping)
        }
        if case .held(let attempt, _) = verdict, case .retry(let failure) = outcome, let file = failure.awaitedFile {
            self.scheduleLook(at: file, for: transfer.id, since: attempt)
        }
        self.drive(onLane: run.lane)
    }

    /// The outcome of a run after the program's decision about another attempt, and the delay if it has chosen one.
    private func decided(
        _ outcome: RunOutcome,
        _ transfer: Transfer,
        _ policy: any TransferPolicy
    ) -> (RunOutcome, Int64?) {
        guard case .retry(let failure) = outcome, failure.awaitedFile == nil, !failure.isShortage,
            !failure.concernsFileSystem,
            let attempts = self.state.withLock({ $0.machine.attempts(of: transfer.id) })
        else { return (outcome, nil) }
        return switch policy.decide(after: failure, attempts: attempts, userInfo: transfer.userInfo) {
        case nil: (outcome, nil)
        case .retry(let delay): (outcome, delay.inNanoseconds)
        case .fail: (.failed(failure), nil)
        }
    }

    private func result(of outcome: RunOutcome, _ transfer: Transfer, _ delay: Int64?) -> EngineMachine.RunResult {
        switch outcome {
        case .finished(let completion): return .finished(isSkipped: completion.skipped)
        case .failed: return .failed
        case .retry(let failure):
            var facts = self.facts(failure, of: transfer)
            facts.chosenDelay = delay
            return .retry(facts)
        case .paused: return .paused
        case .stopped: return .stopped
        case .cancelled(let keeping): return .cancelled(keeping: keeping)
        }
    }

    private func facts(_ failure: TransferFailure, of transfer: Transfer) -> EngineMachine.Failure {
        var facts = EngineMachine.Failure(failure, of: transfer)
        if failure.concernsFileSystem {
            let target = transfer.memory.withLock { $0.target } ?? transfer.reserved
            facts.fileSystem = EngineMachine.FileSystem(
                key: self.store.fileSystem(of: target) ?? UInt64(truncatingIfNeeded: target.directory.hashValue),
                directory: target.directory.isEmpty ? "." : target.directory,
                code: failure.code
            )
        }
        return facts
    }

    /// Posts the result of a run, and forgets a transfer that has ended.
    private func conclude(
        _ state: inout State,
        _ transfer: Transfer,
        _ verdict: EngineMachine.Verdict,
        _ outcome: RunOutcome
    ) {
        switch (verdict, outcome) {
        case (.unsynced, .finished(let completion)): state.unsynced.append((transfer, completion))
        case (.finished, .finished(let completion)): self.ended(&state, transfer, .finished(completion))
        case (.failed, .failed(let failure)): self.ended(&state, transfer, .failed(failure))
        case (.refused(let refusal), .retry(let failure)):
            self.ended(&state, transfer, .failed(self.final(failure, refusal, transfer.options)))
        case (.retrying(let attempt, let delay), .retry(let failure)),
            (.held(let attempt, let delay), .retry(let failure)):
            self.hub.post(transfer.event(.retrying(failure, attempt: attempt, delay: .nanoseconds(delay))))
        case (.paused, _): self.hub.post(transfer.event(.paused))
        case (.cancelled, _): self.ended(&state, transfer, .cancelled)
        case (.waiting, _): break
        default: preconditionFailure("transfer \(transfer.id): \(verdict) does not follow from \(outcome)")
        }
    }

    /// The failure of a transfer for which no other attempt is made.
    private func final(
        _ failure: TransferFailure,
        _ refusal: EngineMachine.RetryRefusal,
        _ options: DownloadOptions
    ) -> TransferFailure {
        var last = failure
        switch refusal {
        case .outOfTime: return self.outOfTime("the last attempt failed: \(failure.message)", options)
        case .outage(let hold):
            last = self.outageFailure(HostHold(hold, now: self.time.now, wallNow: self.time.wallNow), options)
            last.response = failure.response
        case .retryAfter(let seconds):
            let time = DurationFormat.compact(.seconds(seconds))
            last.message += "; it asks to retry after \(time), longer than this transfer waits"
        case .fileSystem: if options.outageTimeout != nil { last.setting = .outageTimeout }
        case .noneLeft(let attempts): if options.retries > 0 { last.message += " (\(attempts) attempts)" }
        }
        return last
    }

    /// The failure of a transfer whose time has run out between two attempts.
    func outOfTime(_ reason: String?, _ options: DownloadOptions) -> TransferFailure {
        let allowed = DurationFormat.compact(options.totalTimeout)
        return TransferFailure(
            .timeout,
            "did not finish within \(allowed)" + (reason.map { "; \($0)" } ?? ""),
            setting: .resourceTimeout
        )
    }

    /// Posts the event of a transfer that has ended, and `.drained` if the queue is empty.
    func ended(_ state: inout State, _ transfer: Transfer, _ kind: TransferEvent.Kind) {
        state.transfers[transfer.id] = nil
        let (target, name) = transfer.memory.withLock { ($0.target, $0.download.name) }
        if self.releasesNames, case .download = transfer.work {
            state.machine.releaseName(transfer.reserved)
            if let target { state.machine.releaseName(target) }
            if let name, name != target { state.machine.releaseName(name) }
        }
        self.hub.post(transfer.event(kind, target: target))
        if let authorizer = transfer.authorizer, !authorizer.isIdle {
            self.hub.post { [id = transfer.id] in authorizer.ended(id) }
        }
        if state.machine.isIdle, state.machine.isStarted {
            self.hub.post(TransferEvent(id: nil, url: "", userInfo: nil, kind: .drained))
        }
    }

    /// Deletes the partial file of a cancelled transfer, or releases its reserved space if it is kept.
    func abandon(_ transfer: Transfer, keeping: Bool) {
        transfer.letGoOfSource()
        guard !keeping else {
            if let left = transfer.deletable { self.pool.run { self.store.releaseReserve(of: left) } }
            return
        }
        self.terminate(transfer)
        if let left = transfer.deletable { self.pool.run { try? self.store.discardPartial(left) } }
    }

    // MARK: Durability in groups

    func syncGroup() {
        while true {
            let group = self.state.withLock { state in
                defer { state.unsynced = [] }
                precondition(state.machine.takeGroup() == state.unsynced.count, "a file to sync is missing")
                return state.unsynced
            }
            if group.isEmpty { break }
            let errors = self.store.flushGroup(group.map(\.completion.path))
            let now = self.time.now
            let gathering = self.handle { state in
                for (transfer, completion) in group {
                    if let error = errors[completion.path] {
                        self.syncFailed(&state, transfer, error, now)
                    } else {
                        let verdict = state.machine.synced(transfer.id)
                        self.conclude(&state, transfer, verdict, .finished(completion))
                    }
                }
                return state.machine.gathering(after: group.count)
            }
            if let gathering {
                self.time.schedule(after: gathering) { self.pool.run { self.syncGroup() } }
                return
            }
        }
    }

    private func syncFailed(_ state: inout State, _ transfer: Transfer, _ error: StorageError, _ now: Int64) {
        let failure = TransferFailure(error)
        // If the name was taken after the last survey, the next attempt surveys the file and applies `ifExists`.
        let isRepeated = error.concernsFileSystem || (error.code == .exists && transfer.options.ifExists != .fail)
        let facts = isRepeated ? self.facts(failure, of: transfer) : nil
        let verdict = state.machine.syncFailed(transfer.id, facts, now: now)
        self.conclude(&state, transfer, verdict, isRepeated ? .retry(failure) : .failed(failure))
    }
}

extension EngineMachine.Tally {
    fileprivate init(_ tally: RunTally, _ outcome: RunOutcome, of transfer: Transfer, duration: Int64) {
        self.init()
        self.received = tally.received
        self.sent = tally.sent
        self.hasResponse =
            switch outcome {
            case .finished(let completion): tally.hasAdvanced || !completion.skipped
            case .failed(let failure), .retry(let failure): tally.hasAdvanced || failure.status != nil
            case .paused, .stopped, .cancelled: tally.hasAdvanced
            }
        if case .failed(let failure) = outcome, failure.evidence?.cause == .errors {
            self.report = EngineMachine.Failure(failure, of: transfer)
        }
        self.kept = tally.kept
        self.mayProbe = tally.mayProbe
        self.duration = duration
    }
}

extension EngineMachine.Failure {
    fileprivate init(_ failure: TransferFailure, of transfer: Transfer) {
        var evidence = failure.evidence
        var random = SystemRandom()
        if evidence?.cause == .errors { evidence?.resource = transfer.source.hashValue }
        self.init(
            evidence,
            isThrottled: failure.isThrottled,
            isShortage: failure.isShortage,
            message: failure.message,
            retryAfter: failure.retryAfter,
            jitter: Double.random(in: 0...1, using: &random)
        )
        self.awaitsFile = failure.awaitedFile != nil
    }
}
