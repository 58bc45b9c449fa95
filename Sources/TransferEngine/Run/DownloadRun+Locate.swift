internal import Synchronization
internal import TransferCore

/// Determines the file's name and surveys the existing files under it.
extension DownloadRun {
    private enum Step {
        case nextName(String)
        case fetch
        case resume(isForeign: Bool)
        case continueExisting(ExistingFile)
        case examine(ExistingFile)
        case digest
        case replayedCommit
        case skip(ExistingFile)
        case fail(TransferFailure)
    }

    /// Surveys the name, then numbered names, until one determines the next step.
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
                    if !reason.isEmpty { self.note("\(target.name): \(reason); using another name") }
                    self.takeNextName()
                    continue
                case .fetch:
                    return self.launchFirst(.fetch)
                case .resume(let isForeign):
                    self.state.withLock { $0.isForeign = isForeign }
                    return self.openPartial(target)
                case .continueExisting(let existing):
                    return self.continueExisting(existing)
                case .examine(let existing):
                    self.state.withLock { $0.existing = existing }
                    return self.launchFirst(.examine(byGET: false))
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
        var isForeign = false
        var written: Int64 = 0
        var isReplaced = false
        switch survey.partial {
        case .busy: return .nextName("another process is fetching it")
        case .foreign(let reason): return .nextName(reason)
        case .committed: return .replayedCommit
        case .ours(let facts, let count):
            written = count
            isReplaced = !facts.formerVersions.isEmpty
            isForeign = !self.isOurs(facts)
            if isForeign, !self.mayContinue(facts) { return .nextName("the partial file is of \(facts.url)") }
            // The response to a POST, or to the caller's own range, is not resumed but requested again.
            if survey.existing == nil {
                if self.transfer.asksForWhole { return .resume(isForeign: isForeign) }
                return isForeign ? .nextName("the partial file is of \(facts.url)") : .fetch
            }
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
            if case .ours = survey.partial, self.transfer.asksForWhole { return .resume(isForeign: isForeign) }
            return .fetch
        case .resume:
            guard canReplace, self.transfer.asksForWhole else { return .nextName("it cannot be continued") }
            // The file must not be overwritten if another version replaced the copy that an earlier run continued.
            self.state.withLock { $0.overwrite = !isReplaced }
            if written > 0 { return .resume(isForeign: isForeign) }
            guard existing.size > 0 else { return .fetch }
            return self.request.expected.isEmpty ? .continueExisting(existing) : .digest
        case .auto:
            guard canReplace, self.transfer.asksForWhole else { return .nextName("it cannot be compared") }
            return self.request.expected.isEmpty ? .examine(existing) : .digest
        }
    }

    private func isOurs(_ facts: ResourceFacts) -> Bool {
        self.request.sources.contains { $0.withoutUserInfo == facts.url }
    }

    /// Whether a partial file of another URL may be continued, provided that the responses show the same version.
    ///
    /// True if the user named the file, or if the URLs differ only in their queries, such as in a new signature.
    private func mayContinue(_ facts: ResourceFacts) -> Bool {
        if self.request.nameIsExact || self.state.withLock({ $0.isNamedByUser }) { return true }
        let path = Self.withoutQuery(facts.url)
        return self.request.sources.contains { Self.withoutQuery($0.withoutUserInfo) == path }
    }

    private static func withoutQuery(_ url: String) -> Substring { url.prefix { $0 != "?" } }

    /// Takes the next numbered name that no other transfer of this engine has taken.
    func takeNextName() {
        self.state.withLock { state in
            state.target = self.engine.takeNextName(directory: state.target.directory, base: state.baseName)
        }
    }

    /// The failure of a transfer whose exact name is taken, or `nil` if it may use another name.
    func nameIsNotFree(_ target: FileTarget, _ reason: String) -> TransferFailure? {
        guard self.request.nameIsExact else { return nil }
        return TransferFailure(
            .fileExists,
            "\(target.path) cannot be written" + (reason.isEmpty ? "" : ": \(reason)"),
            remedy: "move what is in its place away, or choose another name"
        )
    }

    /// Finishes without fetching: the file exists already.
    func skip(_ target: FileTarget, size: Int64, verified: Bool = false, except current: Attempt? = nil) {
        var completion = TransferEvent.Completion(
            path: target.path,
            bytes: size,
            received: 0,
            duration: .nanoseconds(self.now - self.startedAt),
            skipped: true
        )
        completion.verified = verified
        if verified { completion.consistency = .digest }
        self.end(.finished(completion), except: current)
    }

    /// Opens the partial file and continues it.
    func openPartial(_ target: FileTarget) {
        // A cancellation during the opening needs the target to delete.
        self.transfer.memory.withLock { $0.target = target }
        self.line.run {
            // Once the end has been reported, another transfer may survey the file: it must not find it locked.
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
                // The file was deleted, for example by a cancelled transfer of the same name: survey again.
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

    /// Fetches the missing bytes of an open partial file.
    func goOn(with partial: any PartialFile) {
        var plan = SegmentPlanner(length: partial.facts.length, have: partial.initialExtents)
        if partial.facts.length == nil, let first = partial.initialExtents.first {
            // Without a length only an extent that begins at byte 0 can be continued.
            plan = SegmentPlanner(length: nil, have: first.lowerBound == 0 ? [first] : [])
        }
        // The next attempt, and a cancellation, need the same name.
        let target = self.state.withLock { $0.target }
        let takesSingleResponse = self.transfer.memory.withLock { memory in
            memory.target = target
            return memory.takesSingleResponse
        }
        let isVouched = partial.facts.consistency != .digest || !self.expectedDigests(partial.facts).isEmpty
        let isEnded = self.state.withLock { state in
            guard state.phase != .ending else { return true }
            state.file = .partial(partial)
            state.facts = partial.facts
            state.serverDigests = Self.digests(of: partial.facts)
            state.planner = plan
            state.resumedFrom = plan.completed
            state.phase = .active
            state.awaitsFirst = true
            state.serverDoesRanges = self.transfer.memory.withLock { $0.rangesProven }
            // The URL serves several versions, or the held bytes depend on a digest whose value has been lost.
            state.requestsWhole = partial.facts.isUnreliable || takesSingleResponse || !isVouched
            return false
        }
        if isEnded {
            partial.keep()
            return
        }
        // A second partial file left by a killed process has fewer bytes than this one.
        try? self.engine.store.discardPartial(Self.besideTarget(target))
        if plan.isComplete, isVouched { return self.commit() }
        if partial.facts.isUnreliable, plan.completed > 0, !self.mayRestart(Self.alternation(partial.facts)) { return }
        self.engine.transport.execute(onLane: self.lane) { self.launchFirst(.fetch) }
    }

    /// Continues a copy of the existing file if the response begins with its last bytes (`--if-exists resume`).
    private func continueExisting(_ existing: ExistingFile) {
        self.state.withLock { state in
            guard state.phase != .ending else { return }
            state.existing = existing
            state.file = .existing(existing)
            state.planner = SegmentPlanner(length: nil, have: [0..<existing.size])
            state.resumedFrom = existing.size
            state.phase = .active
            state.awaitsFirst = true
        }
        self.launchFirst(.fetch)
    }

    private func compareDigests(_ target: FileTarget) {
        self.line.run {
            do throws(StorageError) {
                var agrees = true
                for expected in self.request.expected where agrees {
                    agrees = try self.engine.store.digestExisting(target, expected.algorithm) == expected.bytes
                }
                let size = try self.engine.store.survey(target).existing?.size ?? 0
                if agrees { return self.skip(target, size: size, verified: true) }
                if self.state.withLock({ $0.ifExists }) == .resume,
                    let existing = try self.engine.store.survey(target).existing
                {
                    return self.engine.transport.execute(onLane: self.lane) { self.continueExisting(existing) }
                }
                self.takeNextName()
                self.engine.transport.execute(onLane: self.lane) { self.locate() }
            } catch {
                self.end(.failed(Self.failure(error)), except: nil)
            }
        }
    }

    /// Whether an existing file is the representation that a response carries.
    func isCurrent(_ existing: ExistingFile, _ head: ResponseHead) -> Bool {
        let length: Int64? =
            if case .length(let length) = head.framing { length } else {
                head.fields["Content-Length"].flatMap { Int64($0) }
            }
        let response = ResourceFacts(url: "", length: length, fields: head.fields, received: self.engine.time.wallNow)
        let recorded = existing.recorded.map { recorded in
            ResourceFacts(
                url: "",
                length: existing.size,
                entityTag: recorded.entityTag,
                lastModified: recorded.lastModified,
                date: recorded.date,
                contentEncoding: response.contentEncoding
            )
        }
        let file = VersionJudge.FinishedFile(size: existing.size, modified: existing.modified, recorded: recorded)
        return VersionJudge.isCurrent(file, response)
    }

    /// The number of bytes compared before a file without a journal is continued.
    static let existingOverlap: Int64 = 256 << 10
}
