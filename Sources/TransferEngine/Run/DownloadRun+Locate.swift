internal import Synchronization
internal import TransferCore

/// Finding the file's name, and what lies there already.
extension DownloadRun {
    private enum Step {
        case nextName(String)
        case fetch
        case resume
        case adopt(ExistingFile)
        case examine(ExistingFile)
        case digest
        case replayedCommit
        case skip(ExistingFile)
        case fail(TransferFailure)
    }

    /// Looks under the name, and under numbered ones after it, until it is clear what to do.
    func locate() {
        while true {
            let target = self.state.withLock { $0.target }
            do throws(StorageError) {
                let survey = try self.engine.store.survey(target)
                switch self.step(survey, target) {
                case .nextName(let reason):
                    if let failure = self.nameIsNotFree(target, reason) {
                        return self.end(.failed(failure), except: nil)
                    }
                    if !reason.isEmpty { self.note("\(target.name): \(reason); another name is taken") }
                    self.takeNextName()
                    continue
                case .fetch:
                    return self.launchFirst(.fetch)
                case .resume:
                    return self.openPartial(target)
                case .adopt(let existing):
                    return self.prepareAdoption(target, existing)
                case .examine(let existing):
                    self.state.withLock { $0.existing = existing }
                    return self.launchFirst(.examine)
                case .digest:
                    return self.compareDigests(target)
                case .replayedCommit:
                    try self.engine.store.discardPartial(target)
                    return self.skip(target, size: survey.existing?.size ?? 0)
                case .skip(let existing):
                    return self.skip(target, size: existing.size)
                case .fail(let failure):
                    return self.end(.failed(failure), except: nil)
                }
            } catch {
                return self.end(.failed(Self.failure(error)), except: nil)
            }
        }
    }

    private func step(_ survey: FileSurvey, _ target: FileTarget) -> Step {
        switch survey.partial {
        case .busy: return .nextName("another process is fetching it")
        case .foreign(let reason): return .nextName(reason)
        case .committed: return .replayedCommit
        case .ours(let facts, _):
            guard self.isOurs(facts) else { return .nextName("the partial file is of \(facts.url)") }
            // The answer to a POST, or to a range of the caller's own, is asked for anew.
            if survey.existing == nil { return self.transfer.asksForWhole ? .resume : .fetch }
        case .none: break
        }
        guard let existing = survey.existing else { return .fetch }
        if let mark = self.request.mark, existing.mark == mark { return .skip(existing) }
        let canReplace = existing.isRegular
        switch self.state.withLock({ $0.ifExists }) {
        case .skip: return .skip(existing)
        case .fail:
            return .fail(
                TransferFailure(
                    .fileExists,
                    "\(target.path) exists",
                    remedy: "move it away",
                    setting: .existingFiles
                )
            )
        case .rename: return .nextName("")
        case .overwrite:
            guard canReplace else {
                return .fail(TransferFailure(.fileExists, "\(target.path) exists and is not a regular file"))
            }
            self.state.withLock { $0.overwrite = true }
            if case .ours = survey.partial, self.transfer.asksForWhole { return .resume }
            return .fetch
        case .resume:
            guard canReplace, self.transfer.asksForWhole else { return .nextName("it cannot be gone on with") }
            return existing.size > 0 ? .adopt(existing) : .examine(existing)
        case .auto:
            guard canReplace, self.transfer.asksForWhole else { return .nextName("it cannot be compared") }
            return self.request.expected.isEmpty ? .examine(existing) : .digest
        }
    }

    private func isOurs(_ facts: ResourceFacts) -> Bool {
        self.request.sources.contains { $0.withoutUserInfo == facts.url }
    }

    /// Takes the next number for the base name that no other transfer of this engine has taken.
    func takeNextName() {
        self.state.withLock { state in
            state.target = self.engine.takeNextName(directory: state.target.directory, base: state.baseName)
        }
    }

    /// Why a transfer fails that may have no other name, or `nil` where it may.
    func nameIsNotFree(_ target: FileTarget, _ reason: String) -> TransferFailure? {
        guard self.request.nameIsExact else { return nil }
        return TransferFailure(
            .fileExists,
            "\(target.path) cannot be written" + (reason.isEmpty ? "" : ": \(reason)"),
            remedy: "move what is in its place away, or choose another name"
        )
    }

    /// The file is there already: nothing is fetched.
    func skip(_ target: FileTarget, size: Int64, except current: Attempt? = nil) {
        let completion = TransferEvent.Completion(
            path: target.path,
            bytes: size,
            received: 0,
            duration: .nanoseconds(self.now - self.startedAt),
            skipped: true
        )
        self.end(.finished(completion), except: current)
    }

    /// Opens our partial file and goes on from it.
    func openPartial(_ target: FileTarget) {
        // Whoever cancels this before it is open knows what to delete.
        self.transfer.memory.withLock { $0.target = target }
        self.line.run {
            // Where the end has been told already, another transfer may look at the file: it must not find it busy.
            guard self.state.withLock({ $0.phase != .ending }) else { return }
            do throws(StorageError) {
                let partial = try self.engine.store.openPartial(target)
                self.goOn(with: partial)
            } catch {
                if error.code == .badJournal {
                    if let failure = self.nameIsNotFree(target, error.message) {
                        return self.end(.failed(failure), except: nil)
                    }
                    self.note(error.message)
                    self.takeNextName()
                    return self.engine.transport.execute(onLane: self.lane) { self.locate() }
                }
                // What was looked at is there no more, as where a transfer of the same name was just cancelled: look again.
                if error.code == .cannotOpen, !self.isStillOurs(target) {
                    return self.engine.transport.execute(onLane: self.lane) { self.locate() }
                }
                self.end(.failed(Self.failure(error)), except: nil)
            }
        }
    }

    private func isStillOurs(_ target: FileTarget) -> Bool {
        if case .ours? = (try? self.engine.store.survey(target))?.partial { true } else { false }
    }

    /// The partial file is open: fetch what is missing, after comparing bytes where no strong validator guards them.
    func goOn(with partial: any PartialFile) {
        let plan = SegmentPlanner(length: partial.facts.length, have: partial.initialExtents)
        // The next attempt, and a cancellation, must find the same name.
        let target = self.state.withLock { $0.target }
        self.transfer.memory.withLock { $0.target = target }
        let isEnded = self.state.withLock { state in
            guard state.phase != .ending else { return true }
            state.file = .partial(partial)
            state.facts = partial.facts
            state.planner = plan
            state.resumedFrom = plan.completed
            state.phase = .active
            state.awaitsFirst = true
            state.serverDoesRanges = self.transfer.memory.withLock { $0.rangesProven }
            return false
        }
        if isEnded {
            partial.keep()
            return
        }
        if plan.isComplete { return self.commit() }
        self.engine.transport.execute(onLane: self.lane) {
            let isForeign = self.state.withLock { self.isUnprovenMirror(self.pickSource(&$0), of: partial.facts) }
            if plan.completed > 0, isForeign || !self.hasStrongValidator(partial.facts) {
                self.probe(partial, .goOn)
            } else if isForeign {
                let isEnded = self.state.withLock { state in
                    if state.phase == .ending { return true }
                    state.phase = .opening
                    return false
                }
                if !isEnded { self.beginAnew(closing: []) }
            } else {
                self.launchFirst(.fetch)
            }
        }
    }

    func hasStrongValidator(_ facts: ResourceFacts) -> Bool {
        if self.transfer.memory.withLock({ $0.tagsUnreliable }) { return false }
        return Validators(entityTag: facts.entityTag, lastModified: facts.lastModified, date: facts.date).strong != nil
    }

    /// Asks for the last bytes of what is there, and compares.
    private func probe(_ partial: any PartialFile, _ then: Attempt.Probe.Then) {
        guard let last = partial.initialExtents.last else { return self.launchFirst(.fetch) }
        let range = max(last.lowerBound, last.upperBound - Self.overlap)..<last.upperBound
        self.line.run {
            do throws(StorageError) {
                let bytes = try partial.read(range)
                self.engine.transport.execute(onLane: self.lane) {
                    self.launchFirst(.probe(Attempt.Probe(range: range, expected: bytes, then: then)))
                }
            } catch {
                self.end(.failed(Self.failure(error)), except: nil)
            }
        }
    }

    /// `--if-exists resume`: the end of the existing file is compared before the file is touched.
    private func prepareAdoption(_ target: FileTarget, _ existing: ExistingFile) {
        let range = max(0, existing.size - Self.adoptionOverlap)..<existing.size
        self.line.run {
            do throws(StorageError) {
                let bytes = try self.engine.store.readExisting(target, range)
                self.state.withLock { $0.existing = existing }
                self.engine.transport.execute(onLane: self.lane) {
                    self.launchFirst(.probe(Attempt.Probe(range: range, expected: bytes, then: .adopt)))
                }
            } catch {
                self.end(.failed(Self.failure(error)), except: nil)
            }
        }
    }

    private func compareDigests(_ target: FileTarget) {
        self.line.run {
            do throws(StorageError) {
                var agrees = true
                for expected in self.request.expected where agrees {
                    agrees = try self.engine.store.digestExisting(target, expected.algorithm) == expected.bytes
                }
                let size = try self.engine.store.survey(target).existing?.size ?? 0
                if agrees { return self.skip(target, size: size) }
                self.takeNextName()
                self.engine.transport.execute(onLane: self.lane) { self.locate() }
            } catch {
                self.end(.failed(Self.failure(error)), except: nil)
            }
        }
    }

    /// Whether an existing file is what the server would send, as far as length and validators tell.
    static func agrees(_ existing: ExistingFile, with head: ResponseHead) -> Bool {
        let length: Int64? =
            if case .length(let length) = head.framing { length } else {
                head.fields["Content-Length"].flatMap { Int64($0) }
            }
        guard length == existing.size else { return false }
        if let tag = existing.entityTag, tag == head.fields["ETag"] { return true }
        return head.fields["Last-Modified"].flatMap { HTTPDate.parse($0) } == existing.modified
    }

    /// The bytes compared before a partial file without a strong validator is continued.
    static let overlap: Int64 = 1024
    /// The bytes compared before a file that no journal vouches for is continued.
    static let adoptionOverlap: Int64 = 1 << 20
}
