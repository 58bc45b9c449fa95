internal import Synchronization
internal import TransferCore

/// Verifies complete files and gives them their names.
extension DownloadRun {
    private func commitOptions(_ durability: CommitOptions.Durability) -> CommitOptions {
        let (facts, overwrite) = self.state.withLock { ($0.facts, $0.overwrite) }
        let recorded = facts.flatMap { facts in
            facts.entityTag == nil && facts.lastModified == nil
                ? nil
                : RecordedVersion(entityTag: facts.entityTag, lastModified: facts.lastModified, date: facts.date)
        }
        return CommitOptions(
            overwrite: overwrite,
            modified: facts?.lastModified.flatMap { HTTPDate.parse($0) },
            recorded: recorded,
            mark: self.request.mark,
            durability: durability,
            expected: self.expectedDigests(),
            report: self.options.reportDigest,
            keepBad: self.options.keepBad && !self.mayTakeSingleResponse
        )
    }

    /// Whether a digest mismatch leads to one more fetch, in a single response: the bytes are from several responses.
    private var mayTakeSingleResponse: Bool {
        let isJoined = self.state.withLock { $0.facts?.consistency != nil }
        return isJoined && !self.transfer.memory.withLock { $0.takesSingleResponse }
    }

    /// Commits a journaled file or a stream whose bytes are all present.
    func commit() {
        let file: RunFile? = self.state.withLock { state in
            guard state.phase == .active else { return nil }
            state.phase = .committing
            return state.file
        }
        guard let file else { return }
        switch file {
        case .none, .small, .existing: break
        case .stream: self.commitStream()
        case .partial(let partial):
            let length = self.state.withLock { $0.planner?.length ?? $0.planner?.completed ?? 0 }
            self.line.run {
                // An earlier checkpoint on the line may have failed.
                guard self.state.withLock({ $0.phase == .committing }) else { return }
                let mayRepeat = self.mayTakeSingleResponse
                let isSynced = length > Self.syncedAbove || self.options.durable
                do throws(StorageError) {
                    let digest = try self.naming { target throws(StorageError) in
                        try partial.commit(as: target, length: length, self.commitOptions(isSynced ? .synced : .none))
                    }
                    if let older = self.state.withLock({ $0.olderPartial }) {
                        try? self.engine.store.discardPartial(older.target)
                    }
                    self.complete(path: self.state.withLock { $0.target.path }, bytes: length, digest: digest)
                } catch {
                    var failure = Self.failure(error)
                    guard error.code == .digestMismatch, mayRepeat else {
                        return self.end(.failed(failure), except: nil)
                    }
                    // Responses of several versions were joined: retry, over one connection.
                    self.transfer.memory.withLock { $0.takesSingleResponse = true }
                    failure.isRetryable = true
                    self.end(.retry(failure), except: nil)
                }
            }
        }
    }

    func commitSmall(_ small: any SmallFile) {
        let length: Int64? = self.state.withLock { state in
            // The run may have been interrupted since the last byte.
            guard state.phase == .active else { return nil }
            state.phase = .committing
            return state.smallLength
        }
        guard let length else { return }
        do throws(StorageError) {
            let digest = try self.naming { target throws(StorageError) in
                try small.commit(as: target, self.commitOptions(self.options.durable ? .grouped : .none))
            }
            self.state.withLock { $0.file = .none }
            self.complete(path: self.state.withLock { $0.target.path }, bytes: length, digest: digest)
        } catch {
            self.end(.failed(Self.failure(error)), except: nil)
        }
    }

    /// Tries names until one is free: another process may have taken the name since the survey.
    private func naming(_ commit: (FileTarget) throws(StorageError) -> [UInt8]?) throws(StorageError) -> [UInt8]? {
        while true {
            do throws(StorageError) {
                return try commit(self.state.withLock { $0.target })
            } catch {
                let rule = self.state.withLock { $0.ifExists }
                guard error.code == .exists, rule != .fail else { throw error }
                if rule == .overwrite, self.request.nameIsExact, !self.state.withLock({ $0.overwrite }) {
                    self.state.withLock { $0.overwrite = true }
                } else if self.request.nameIsExact {
                    throw error
                } else {
                    self.takeNextName()
                }
            }
        }
    }

    func complete(path: String, bytes: Int64, digest: [UInt8]?) {
        let (received, verified, consistency, hasDigest) = self.state.withLock {
            ($0.received, $0.verifiedLength, $0.facts?.consistency, !$0.serverDigests.isEmpty)
        }
        let isDigestCompared = hasDigest || !self.request.expected.isEmpty
        var completion = TransferEvent.Completion(
            path: path,
            bytes: bytes,
            received: self.earlier.received + received,
            duration: .nanoseconds(self.earlier.activeTime + self.now - self.startedAt),
            digest: digest,
            verifiedLength: verified
        )
        completion.verified = isDigestCompared
        completion.consistency = isDigestCompared ? .digest : consistency ?? .singleResponse
        self.end(.finished(completion), except: nil)
    }
}
