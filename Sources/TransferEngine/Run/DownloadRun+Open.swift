internal import Synchronization
internal import TransferCore

/// Creates the file for a first response.
extension DownloadRun {
    /// The maximum declared length of files without a journal.
    static let smallLimit: Int64 = 256 << 10
    /// The length above which files are synced before they are named; others only if durability is requested.
    static let syncedAbove: Int64 = 1 << 20

    /// Creates the file for a response that begins at byte 0.
    ///
    /// - Parameters:
    ///   - attempt: Its request.
    ///   - head: Its head.
    ///   - length: The length of the whole representation, if the response declares it.
    ///   - part: The range that the response carries, if not the whole.
    /// - Returns: Whether to continue reading.
    func openFile(_ attempt: Attempt, _ head: ResponseHead, _ length: Int64?, part: ByteRange? = nil) -> ReadDecision {
        if let decision = self.rename(attempt, by: head) { return decision }
        let isSmall = part == nil && length.map { $0 <= Self.smallLimit } ?? false
        let facts = self.facts(of: head, from: attempt, length: length, includesMediaType: !isSmall)
        let target = self.take(facts, head, attempt, part: part)
        self.transfer.memory.withLock { $0.target = target }
        self.report(head, length)
        if isSmall, let length { return self.openSmall(attempt, target, length) }
        self.state.withLock { _ in attempt.isHeld = true }
        self.line.run { self.makePartial(attempt, target, facts) }
        return .pause
    }

    /// Adopts the facts of the response that the file is created for.
    func take(_ facts: ResourceFacts, _ head: ResponseHead, _ attempt: Attempt, part: ByteRange?) -> FileTarget {
        let digests = part == nil ? Self.digests(in: head) : Self.digests(of: facts)
        let refusesRanges = self.transfer.memory.withLock { $0.rangesRefused || $0.takesSingleResponse }
        return self.state.withLock { state in
            state.facts = facts
            state.serverDigests = digests
            state.serverDoesRanges =
                !refusesRanges
                && (part != nil || head.fields["Accept-Ranges"].map { $0.lowercased() == "bytes" } ?? false)
            state.verifiedLength = head.framing != .untilClose
            state.hasTaken = true
            state.requestsWhole = false
            attempt.isTaken = true
            attempt.isPart = part != nil
            attempt.responseEnd = part?.upperBound ?? facts.length
            self.pin(&state, attempt)
            return state.target
        }
    }

    private func openSmall(_ attempt: Attempt, _ target: FileTarget, _ length: Int64) -> ReadDecision {
        do throws(StorageError) {
            let small = try self.engine.store.createSmall(target)
            let isLive = self.state.withLock { state in
                guard state.phase != .ending, !attempt.isOver else { return false }
                state.file = .small(small)
                state.phase = .active
                state.smallLength = length
                state.smallReceived = 0
                return true
            }
            if !isLive {
                small.discard()
                return .close
            }
            return .read
        } catch {
            self.end(.failed(Self.failure(error)), except: attempt)
            return .close
        }
    }

    func makePartial(_ attempt: Attempt, _ target: FileTarget, _ facts: ResourceFacts) {
        guard self.state.withLock({ $0.phase != .ending }) else { return }
        do throws(StorageError) {
            let partial: any PartialFile
            do throws(StorageError) {
                partial = try self.engine.store.createPartial(target, facts: facts)
            } catch {
                // Another process created a partial file of this name since the survey.
                guard error.code == .exists, self.state.withLock({ $0.phase != .ending }),
                    !self.request.nameIsExact
                else { throw error }
                self.takeNextName()
                let next = self.state.withLock { $0.target }
                self.transfer.memory.withLock { $0.target = next }
                return self.makePartial(attempt, next, facts)
            }
            if let length = facts.length {
                do throws(StorageError) {
                    try partial.preallocate(length: length)
                } catch {
                    partial.discard()
                    throw error
                }
            }
            let wanted = self.expectedDigests()
            let isSingle = self.state.withLock { ($0.fixedConnections ?? 1) == 1 }
            if isSingle {
                var algorithms = wanted.map(\.algorithm)
                if let report = self.options.reportDigest, !algorithms.contains(report) { algorithms.append(report) }
                if !algorithms.isEmpty { partial.digestWhileWriting(algorithms) }
            }
            let isLive = self.state.withLock { state in
                guard state.phase != .ending, !attempt.isOver else { return false }
                state.file = .partial(partial)
                var planner = SegmentPlanner(length: facts.length)
                _ = planner.assign(to: attempt.number, minimumSplit: self.options.minimumSplit)
                state.planner = planner
                attempt.extent = partial.beginExtent(at: 0)
                state.phase = .active
                state.lastCheckpoint = self.now
                return attempt.extent != nil
            }
            // The partial file is still empty.
            guard isLive else { return partial.discard() }
            // The pieces are assigned before the first connection resumes reading: all start at the same time.
            self.fill(preferring: attempt.lane)
            self.letGo(attempt)
        } catch {
            self.end(.failed(Self.failure(error)), except: nil)
        }
    }

    /// Resumes reading after a pause.
    func letGo(_ attempt: Attempt) {
        self.engine.transport.execute(onLane: attempt.lane) {
            let exchange = self.state.withLock { _ -> (any Exchange)? in
                guard !attempt.isOver else { return nil }
                attempt.isHeld = false
                attempt.lastActivity = self.now
                if attempt.bodySince == nil { attempt.bodySince = self.now }
                return attempt.exchange
            }
            exchange?.resumeReading()
        }
    }

    /// Takes the name that the response proposes, unless the user chose one.
    ///
    /// - Returns: The decision if this response is not used under the new name; `nil` to continue with it.
    private func rename(_ attempt: Attempt, by head: ResponseHead) -> ReadDecision? {
        if !self.state.withLock({ $0.isNamedByUser }), let field = head.fields["Content-Disposition"],
            let proposed = ContentDisposition(field).fileName.flatMap({ FileName.sanitize($0) })
        {
            let changed = self.state.withLock { state in
                guard proposed != state.baseName else { return false }
                state.baseName = proposed
                state.target = self.engine.takeName(directory: state.target.directory, base: proposed)
                return true
            }
            if changed || self.state.withLock({ $0.isDiverted }) { return self.relocate(attempt, head) }
        } else if self.state.withLock({ $0.existing != nil }), !self.state.withLock({ $0.overwrite }) {
            return self.relocate(attempt, head)
        } else if self.state.withLock({ $0.isDiverted }) {
            return self.relocate(attempt, head)
        }
        return nil
    }

    /// Surveys the final name, which is known only once the response has arrived.
    private func relocate(_ attempt: Attempt, _ head: ResponseHead) -> ReadDecision? {
        while true {
            let target = self.state.withLock { $0.target }
            let survey: FileSurvey
            do throws(StorageError) {
                survey = try self.engine.store.survey(target)
            } catch {
                self.end(.failed(Self.failure(error)), except: attempt)
                return .close
            }
            if case .ours(let facts, let written) = survey.partial, written > 0, survey.existing == nil,
                self.request.sources.contains(where: { $0.withoutUserInfo == facts.url })
            {
                // Continuing the partial file needs a range request.
                self.transfer.memory.withLock { $0.target = target }
                self.state.withLock { state in
                    state.heldSlot = attempt.slot
                    attempt.slot = nil
                    self.retire(&state, attempt)
                }
                self.openPartial(target)
                return .close
            }
            switch survey.partial {
            case .busy, .foreign:
                self.takeNextName()
                continue
            case .none, .ours, .committed: break
            }
            guard let existing = survey.existing else { return nil }
            switch self.state.withLock({ $0.ifExists }) {
            case .skip:
                self.skip(target, size: existing.size, except: attempt)
                return .close
            case .fail:
                let failure = TransferFailure(
                    .fileExists,
                    "\(target.path) exists",
                    remedy: "move it away",
                    setting: .existingFiles
                )
                self.end(.failed(failure), except: attempt)
                return .close
            case .overwrite where existing.isRegular:
                self.state.withLock { $0.overwrite = true }
                return nil
            case .auto where existing.isRegular && self.isCurrent(existing, head):
                self.skip(target, size: existing.size, except: attempt)
                return .close
            case .auto, .rename, .resume, .overwrite:
                self.takeNextName()
            }
        }
    }

    func facts(
        of head: ResponseHead,
        from attempt: Attempt,
        length: Int64?,
        includesMediaType: Bool = true
    ) -> ResourceFacts {
        var facts = ResourceFacts(
            url: self.request.sources[attempt.source].withoutUserInfo,
            finalURL: attempt.url.redacted,
            length: length,
            fields: head.fields,
            received: self.engine.time.wallNow,
            includesMediaType: includesMediaType
        )
        facts.isUnreliable = self.transfer.memory.withLock { $0.takesSingleResponse }
        return facts
    }
}
