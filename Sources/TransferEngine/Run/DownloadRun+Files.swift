// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// File operations: those that block run on the run's line, one at a time.
extension DownloadRun {
    func survey(_ target: FileTarget) -> [DownloadAction] {
        do throws(StorageError) {
            let survey = try self.store.survey(target)
            // An earlier process gave the file its name, and may have ended before that was durable. Rare, so it may block.
            if self.shared.options.durable, let mark = self.download.request.mark, survey.existing?.mark == mark {
                try self.store.makeDurable(target)
            }
            return self.report { $0.surveyed(survey, self.now) }
        } catch {
            return self.report { $0.storageFailed(error) }
        }
    }

    func compareDigests(_ target: FileTarget, _ expected: [ExpectedDigest]) {
        self.line.run {
            do throws(StorageError) {
                var agree = true
                for digest in expected where agree {
                    agree = try self.store.digestExisting(target, digest.algorithm) == digest.bytes
                }
                self.handle { $0.digestsCompared(agree: agree, self.now) }
            } catch {
                self.failed(error)
            }
        }
    }

    func openPartial(_ target: FileTarget, claiming: Bool) {
        self.line.run {
            // When the end has been reported, another transfer may survey the file, and must not find it locked.
            if self.state.withLock({ $0.machine.isEnded }) { return }
            if !claiming { RunFile.keepLonger(target, in: self.store) }
            do throws(StorageError) {
                let partial = try self.store.openPartial(target, claiming: claiming)
                let actions: [DownloadAction]? = self.state.withLock { state in
                    if state.machine.isEnded { return nil }
                    state.file = .partial(partial)
                    state.performers += 1
                    return state.machine.partialOpened(partial.facts, extents: partial.initialExtents, self.now)
                }
                if let actions { self.performAll(actions) } else { partial.keep() }
            } catch {
                let found: PartialState
                do throws(StorageError) {
                    found = try self.store.survey(target).partial
                } catch {
                    return self.failed(error)
                }
                let isStillOurs =
                    switch found {
                    case .ours: true
                    case .unpaired: claiming
                    default: false
                    }
                self.handle { $0.openingFailed(error, isStillOurs: isStillOurs) }
            }
        }
    }

    func createSmall(_ target: FileTarget, _ number: Int) -> [DownloadAction] {
        do throws(StorageError) {
            let small = try self.store.createSmall(target)
            let (isWanted, exchange): (Bool, DownloadExchange?) = self.state.withLock { state in
                guard state.machine.wantsFile else { return (false, nil) }
                state.file = .small(small)
                _ = state.machine.smallCreated(self.now)
                return (true, state.exchanges.first { $0.number == number })
            }
            exchange?.small = small
            if !isWanted { small.discard() }
            return []
        } catch {
            return self.report { $0.storageFailed(error) }
        }
    }

    func createPartial(_ plan: PartialPlan) {
        let current: RunFile = self.state.withLock { state in
            defer { state.file = .none }
            return state.file
        }
        self.line.run {
            if case .partial(let file) = current {
                if case .keep = plan.current { file.keep() } else { file.discard() }
            }
            guard self.state.withLock({ $0.machine.wantsFile }) else { return }
            do throws(StorageError) {
                let partial = try self.store.createPartial(plan.target, facts: plan.facts.value)
                do throws(StorageError) {
                    if let length = plan.facts.length { try partial.preallocate(length: length) }
                } catch {
                    partial.discard()
                    throw error
                }
                if !plan.algorithms.isEmpty { partial.digestWhileWriting(plan.algorithms) }
                let actions: [DownloadAction]? = self.state.withLock { state in
                    guard state.machine.wantsFile else { return nil }
                    state.file = .partial(partial)
                    state.performers += 1
                    return state.machine.partialCreated(self.now)
                }
                // Otherwise the run has ended, and the partial file is still empty.
                if let actions { self.performAll(actions) } else { partial.discard() }
            } catch {
                self.handle { $0.storageFailed(error) }
            }
        }
    }

    /// Copies the existing file, which keeps its name, to a partial file.
    func copyExisting(_ target: FileTarget, _ identity: FileIdentity, _ facts: ResourceFacts) {
        self.line.run {
            guard self.state.withLock({ $0.machine.wantsCopy }) else { return }
            do throws(StorageError) {
                let partial = try self.store.copyExisting(target, unchangedSince: identity, facts: facts)
                let actions: [DownloadAction]? = self.state.withLock { state in
                    guard state.machine.wantsCopy else { return nil }
                    state.file = .partial(partial)
                    state.performers += 1
                    return state.machine.existingCopied(facts, self.now)
                }
                if let actions { self.performAll(actions) } else { partial.keep() }
            } catch {
                self.failed(error)
            }
        }
    }

    func beginExtent(_ number: Int, at offset: Int64) {
        guard case .partial(let file) = self.file else { return }
        self.onEventLoop(number) { exchange in
            if exchange.isClosed { return }
            exchange.file = file
            exchange.extent = file.beginExtent(at: offset)
            if exchange.extent == nil {
                let failure = TransferFailure(.fileIO, "the part does not fit the file", isRetryable: true)
                self.handle { $0.requestFailed(failure, number, self.now) }
            }
        }
    }

    /// Records the facts in the journal; if that fails, the run ends, because bytes of a new version would follow the
    /// facts of an old one.
    func recordFacts() {
        if let error = self.record(nil) { self.failed(error) }
    }

    /// Records facts of contradicted bytes; if that fails, the bytes are given up, because the next run would continue them.
    func recordDifference(_ recorded: ResourceFacts) {
        if let error = self.record(recorded) { self.handle { $0.differenceNotRecorded(error) } }
    }

    /// Stores the machine's facts, or the given ones if it has none; those of an earlier event never replace later ones.
    private func record(_ recorded: ResourceFacts?) -> StorageError? {
        self.recording.withLock { _ in
            let (file, facts) = self.state.withLock { ($0.file, $0.machine.facts ?? recorded) }
            guard case .partial(let partial) = file, let facts else { return nil }
            do throws(StorageError) {
                try partial.update(facts: facts)
                return nil
            } catch {
                return error
            }
        }
    }

    func checkpoint() {
        self.line.run {
            guard case .partial(let file) = self.file else { return }
            do throws(StorageError) {
                try file.checkpoint()
            } catch {
                self.failed(error)
            }
        }
    }

    func keepPartial() {
        let file: RunFile = self.state.withLock { state in
            defer { state.file = .none }
            return state.file
        }
        if case .partial(let partial) = file { self.line.run { partial.keep() } }
    }

    func finishPartDigests(_ number: Int) {
        self.onEventLoop(number) { exchange in
            let (digests, count) = (exchange.digests?.digests() ?? [:], exchange.digests?.count ?? -1)
            self.handle { $0.partDigested(digests, count: count, number, self.now) }
        }
    }

    // MARK: Committing

    func commitSmall(_ target: FileTarget, _ options: CommitOptions) -> [DownloadAction] {
        guard case .small(let small) = self.file else { return [] }
        do throws(StorageError) {
            let digest = try small.commit(as: target, options)
            return self.state.withLock { state in
                state.file = .none
                return state.machine.committed(digest: digest, self.now)
            }
        } catch {
            return self.report { $0.commitFailed(error) }
        }
    }

    func commitPartial(_ target: FileTarget, _ length: Int64, _ options: CommitOptions) {
        guard case .partial(let partial) = self.file else { return }
        self.line.run {
            // An earlier checkpoint on the line may have failed.
            guard self.state.withLock({ $0.machine.isCommitting }) else { return }
            do throws(StorageError) {
                let digest = try partial.commit(as: target, length: length, options)
                self.handle { $0.committed(digest: digest, self.now) }
            } catch {
                self.handle { $0.commitFailed(error) }
            }
        }
    }
}
