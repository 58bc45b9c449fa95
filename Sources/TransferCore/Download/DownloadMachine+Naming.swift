// SPDX-License-Identifier: Apache-2.0
/// Determines the file's name and what existing files under it mean.
extension DownloadMachine {
    var existingFiles: ExistingFiles {
        ExistingFiles(
            rule: self.name.rule,
            ifRunning: self.terms.ifRunning ?? IfRunningRule(following: self.name.rule),
            isNamedByUser: self.name.isGivenByUser,
            isExact: self.terms.nameIsExact,
            asksForWhole: self.terms.asksForWhole,
            mark: self.terms.mark,
            hasDigests: !self.terms.expected.isEmpty,
            sources: self.terms.sources,
            replaceable: self.name.replaceable
        )
    }

    mutating func survey() {
        self.phase = .locating(.surveying)
        self.emit(.survey(self.name.target))
    }

    /// The maximum number of names that a run tries.
    package static var mostNames: Int { 100_000 }

    /// Counts a survey that leads to another one; ends the run if it has made too many.
    private mutating func mayLookAgain() -> Bool {
        self.name.attempts += 1
        guard self.name.attempts > Self.mostNames else { return true }
        let failure = TransferFailure(
            .fileExists,
            "no free name for \(self.name.path): \(Self.mostNames) were tried",
            remedy: "move the existing files away, or choose another name"
        )
        self.end(.failed(failure))
        return false
    }

    /// Notes that a server or a URL proposed a name of one of Martlet's own files.
    mutating func noteReplacedName() {
        guard let reserved = ReservedName.replaced(by: self.name.base) else { return }
        self.warn("the name '\(reserved)' is reserved for partial files; using '\(self.name.base)'")
    }

    mutating func reserveNextName() {
        guard self.mayLookAgain() else { return }
        self.emit(.reserveNextName(directory: self.name.target.directory, base: self.name.base))
    }

    /// Uses another name, as the user wishes.
    private mutating func useRequestedName(_ reason: String) {
        self.warn("\(self.name.target.name): \(reason); using another name")
        self.reserveNextName()
    }

    /// Uses another name; fails if the name must be exact.
    mutating func useNextName(_ reason: String) {
        let target = self.name.target
        if let failure = self.existingFiles.nameIsNotFree(target, reason) { return self.end(.failed(failure)) }
        if !reason.isEmpty { self.warn("\(target.name): \(reason); using another name") }
        self.reserveNextName()
    }

    package mutating func nameReserved(_ target: FileTarget) -> [DownloadAction] {
        switch self.phase {
        case .locating(.surveying):
            self.name.target = target
            self.rememberName()
            self.survey()
        case .opening(.naming):
            self.name.target = target
            self.rememberName()
            self.emit(.survey(target))
        case .opening(.creating(let accepted)):
            // Another process created a partial file of this name since the survey.
            self.name.target = target
            self.publishTarget()
            self.createPartial(accepted, as: target, closing: .none)
        case .committing:
            self.name.target = target
            self.commitAgain()
        case .locating, .opening, .small, .fetching, .ended, .borrowed: break
        }
        return self.takeActions()
    }

    mutating func publishTarget() {
        self.history.target = self.name.target
        self.rememberName()
        self.emit(.publishTarget(self.name.target))
    }

    /// Lets the next run begin with the name: it is reserved for this transfer, which would take another one otherwise.
    private mutating func rememberName() {
        self.history.name = self.name.target
        self.history.baseName = self.name.base
    }

    /// The files under the name were surveyed.
    package mutating func surveyed(_ survey: FileSurvey, _ now: Int64) -> [DownloadAction] {
        switch self.phase {
        case .locating(.surveying):
            self.act(self.existingFiles.step(survey, self.name.target), on: survey.existing, now)
        case .opening(.naming(let pending)): self.surveyed(survey, for: pending, now)
        case .opening(.creating): self.surveyedConflict(survey)
        case .committing(let committing): self.surveyedDuplicate(survey, committing, now)
        case .locating, .opening, .small, .fetching, .ended, .borrowed: break
        }
        return self.takeActions()
    }

    private mutating func act(_ step: ExistingFiles.Step, on existing: ExistingFile?, _ now: Int64) {
        switch step {
        case .nextName(let reason): self.useNextName(reason)
        case .requestedName(let reason): self.useRequestedName(reason)
        case .fetch(let overwrites):
            self.mayReplace(overwrites ? existing : nil)
            self.launchFirst(.fetch, now)
        case .resume(let isForeign, let overwrites):
            self.mayReplace(overwrites ? existing : nil)
            self.openPartial(isForeign: isForeign)
        case .resumeUnpaired: self.openPartial(isForeign: true, claiming: true)
        case .continueExisting(let existing, let overwrites):
            self.name.overwrites = overwrites
            self.continueExisting(existing, now)
        case .examine(let existing):
            self.existing = Boxed(existing)
            self.phase = .locating(.examining(existing))
            self.launchFirst(.examine(byGET: false), now)
        case .revalidate(let existing):
            self.existing = Boxed(existing)
            self.mayReplace(existing)
            self.name.revalidates = true
            self.launchFirst(.fetch, now)
        case .compareDigests(let existing, let overwrites):
            self.name.overwrites = overwrites
            self.phase = .locating(.comparingDigests(existing))
            self.emit(.compareDigests(self.name.target, self.terms.expected))
        case .replayedCommit(let existing):
            self.emit(.discardPartial(self.name.target))
            self.skip(size: existing?.size ?? 0, isUnexamined: true, now)
        case .skip(let existing): self.skip(size: existing.size, isUnexamined: true, now)
        case .wait: self.awaitOther()
        case .fail(let failure): self.end(.failed(failure))
        }
    }

    /// Sets the file that the commit replaces: no other one unless the user has asked for it.
    private mutating func mayReplace(_ existing: ExistingFile?) {
        self.name.overwrites = existing != nil
        self.name.replaceable = self.name.rule == .auto || self.name.rule == .update ? existing?.file : nil
    }

    /// Performs what follows a comparison that does not show that the existing file is the server's.
    mutating func replaceOrRefuse(_ existing: ExistingFile, _ difference: ExistingFiles.Difference) {
        self.existing = nil
        self.name.revalidates = false
        switch difference {
        case .replace:
            // It is surveyed again: there may be a part of its successor.
            self.name.replaceable = existing.file
            if self.mayLookAgain() { self.survey() }
        case .nextName:
            self.phase = .locating(.surveying)
            self.reserveNextName()
        case .fail(let failure): self.end(.failed(failure))
        }
    }

    // MARK: Files that another process is downloading

    /// Ends the run; the next one begins when the other process has ended.
    private mutating func awaitOther() {
        // The next run surveys this name first.
        self.publishTarget()
        let target = self.name.target
        self.warn("\(target.name): another process is downloading it; waiting for its end")
        var failure = TransferFailure(.inUse, "another process is downloading \(target.path)", isRetryable: true)
        failure.awaitedFile = target
        self.end(.retry(failure))
    }

    /// Waits for the other process although a response was received, unless its request must not be repeated.
    private mutating func awaitOtherAfterResponse() {
        guard self.mayRepeat(self.terms.method) else {
            return self.useNextName("another process is downloading it")
        }
        self.awaitOther()
    }

    /// The partial file could not be created, because another one has appeared since the survey.
    private mutating func surveyedConflict(_ survey: FileSurvey) {
        switch survey.partial {
        case .busy(let facts):
            switch self.existingFiles.step(running: facts, self.name.target) {
            case .wait: self.awaitOtherAfterResponse()
            case .fail(let failure): self.end(.failed(failure))
            case .nextName(let reason): self.useNextName(reason)
            case .requestedName(let reason): self.useRequestedName(reason)
            case let step: preconditionFailure("\(step) does not follow a file in use")
            }
        case .foreign(let reason), .unpaired(_, let reason): self.useNextName(reason)
        case .none, .ours, .committed: self.useNextName("")
        }
    }

    /// The digests of the existing file were computed.
    package mutating func digestsCompared(agree: Bool, _ now: Int64) -> [DownloadAction] {
        guard case .locating(.comparingDigests(let existing)) = self.phase else { return [] }
        if agree {
            self.skip(size: existing.size, verified: true, now)
        } else if self.name.rule == .resume {
            self.continueExisting(existing, now)
        } else {
            self.replaceOrRefuse(existing, self.existingFiles.wrongDigest(of: existing, self.name.target))
        }
        return self.takeActions()
    }

    /// Continues a copy of the existing file if the response begins with its last bytes (`--if-exists resume`).
    private mutating func continueExisting(_ existing: ExistingFile, _ now: Int64) {
        self.existing = Boxed(existing)
        let fetching = Fetching(
            .existing(existing),
            SegmentPlanner(length: nil, have: [0..<existing.size]),
            facts: nil,
            now: now
        )
        self.phase = .fetching(fetching)
        self.resumedFrom = existing.size
        self.launchFirst(.fetch, now)
    }

    /// The number of bytes compared before a file without a journal is continued.
    static var existingOverlap: Int64 { 256 << 10 }

    // MARK: Resuming a partial file

    mutating func openPartial(isForeign: Bool, claiming: Bool = false) {
        let target = self.name.target
        // A cancellation during the opening needs the target to delete.
        self.publishTarget()
        self.phase = .locating(.openingPartial(target, isForeign: isForeign))
        self.emit(.openPartial(target, claiming: claiming))
    }

    /// The partial file is open.
    ///
    /// - Parameters:
    ///   - facts: The facts recorded in its journal.
    ///   - extents: The byte ranges present.
    ///   - now: The time.
    /// - Returns: The actions.
    package mutating func partialOpened(
        _ facts: ResourceFacts,
        extents: [ByteRange],
        _ now: Int64
    ) -> [DownloadAction] {
        guard case .locating(.openingPartial(let target, let isForeign)) = self.phase else { return [] }
        var plan = SegmentPlanner(length: facts.length, have: extents)
        if facts.length == nil, let first = extents.first {
            // Without a length only an extent that begins at byte 0 can be continued.
            plan = SegmentPlanner(length: nil, have: first.lowerBound == 0 ? [first] : [])
        }
        let boxed = Boxed(facts)
        var fetching = Fetching(.partial, plan, facts: boxed, now: now)
        fetching.recorded = boxed
        fetching.isForeign = isForeign
        fetching.digests = Self.digests(of: facts)
        fetching.doesRanges = self.history.ranges.isProven
        let mayCommit = self.mayCommit(fetching)
        // The URL serves several versions, or the bytes cannot be verified, or are known to differ.
        fetching.requestsWhole = facts.isUnreliable || self.history.takesSingleResponse || !mayCommit
        // Counted with its response: attempts that get none, as in an outage, are no restarts.
        fetching.owesRestart = facts.isUnreliable && plan.completed > 0
        self.resumedFrom = plan.completed
        self.phase = .fetching(fetching)
        // A second partial file left by a killed process with more bytes has replaced this one before it was opened.
        self.emit(.discardPartial(OlderPartial.beside(target)))
        if !facts.differing.isEmpty { self.avoidSources(facts.differing) }
        if plan.isComplete, mayCommit {
            self.commit(now)
        } else {
            self.launchFirst(.fetch, now)
        }
        return self.takeActions()
    }

    /// Avoids sources that have another file than the partial one, unless no other is left.
    private mutating func avoidSources(_ differing: [String]) {
        let sources = self.terms.sources
        let bad = self.history.sources.bad.union(
            sources.indices.filter { differing.contains(sources[$0].withoutUserInfo) }
        )
        if bad.count < sources.count { self.history.sources.bad = bad }
    }

    /// The partial file could not be opened.
    ///
    /// - Parameters:
    ///   - error: The reason.
    ///   - isStillOurs: Whether a new survey finds it.
    /// - Returns: The actions.
    package mutating func openingFailed(_ error: StorageError, isStillOurs: Bool) -> [DownloadAction] {
        guard case .locating(.openingPartial(let target, _)) = self.phase else { return [] }
        self.phase = .locating(.surveying)
        if error.code == .badJournal {
            if let failure = self.existingFiles.nameIsNotFree(target, error.message) {
                self.end(.failed(failure))
            } else {
                self.warn("\(target.name): \(error.message); using another name")
                self.reserveNextName()
            }
        } else if error.code == .inUse || (error.code == .cannotOpen && !isStillOurs) {
            // Another process has opened it since the survey, or it was deleted, for example by a cancelled transfer of
            // the same name: survey again.
            if self.mayLookAgain() { self.survey() }
        } else {
            self.end(self.outcome(TransferFailure(error)))
        }
        return self.takeActions()
    }

    // MARK: A name that the response proposes

    /// Whether the name is determined only by the response, so that it has to be reserved or surveyed now.
    ///
    /// - Returns: The base of the name to reserve, or `nil` if the present name is only surveyed; no value if the name
    ///   is final.
    func proposedName(_ head: ResponseHead, _ url: HTTPURL) -> String?? {
        if !self.name.isGivenByUser, let proposed = self.name(proposedBy: head, url) {
            if proposed != self.name.base { return .some(.some(proposed)) }
            return self.name.isDiverted ? .some(.some(proposed)) : nil
        }
        if self.name.isDiverted { return .some(.some(self.name.base)) }
        return self.existing != nil && !self.name.overwrites ? .some(nil) : nil
    }

    private func name(proposedBy head: ResponseHead, _ url: HTTPURL) -> String? {
        let field = head.fields["Content-Disposition"]
        if let name = field.flatMap({ ContentDisposition($0).fileName }).flatMap({ FileName.sanitize($0) }) {
            return name
        }
        return self.terms.namesByFinalURL ? FileName.choose(byFinal: url) : nil
    }

    /// Reserves or surveys the name that a response determines.
    mutating func relocate(_ base: String?, _ pending: Opening.Pending) {
        self.phase = .opening(.naming(pending))
        guard let base else { return self.emit(.survey(self.name.target)) }
        // Another file has this name than that which was compared.
        if self.name.rule == .update { self.mayReplace(nil) }
        self.name.revalidates = false
        if base != self.name.base {
            self.name.base = base
            self.noteReplacedName()
        }
        let directory = self.history.diversion?.directory ?? self.name.target.directory
        self.emit(.reserveName(directory: directory, base: base))
    }

    private mutating func surveyed(_ survey: FileSurvey, for pending: Opening.Pending, _ now: Int64) {
        guard let index = self.index(of: pending.request) else { return }
        let step = self.existingFiles.step(survey, self.name.target) { self.freshness(of: $0, pending.head) }
        switch step {
        case .nextName(let reason): self.useNextName(reason)
        case .requestedName(let reason): self.useRequestedName(reason)
        case .fetch(let overwrites):
            if overwrites { self.mayReplace(survey.existing) }
            self.createFile(pending, now)
        case .resume:
            // Continuing the partial file needs a range request.
            self.retire(index, keepsSlot: true)
            self.openPartial(isForeign: false)
        case .skip(let existing) where self.name.rule == .update:
            self.keep(existing, self.freshness(of: existing, pending.head), now)
        case .skip(let existing): self.skip(size: existing.size, now)
        case .wait: self.awaitOtherAfterResponse()
        case .fail(let failure): self.end(.failed(failure))
        case .resumeUnpaired, .continueExisting, .examine, .revalidate, .compareDigests, .replayedCommit:
            preconditionFailure("\(step) does not follow a survey of a proposed name")
        }
    }
}
