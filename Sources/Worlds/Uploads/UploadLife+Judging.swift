// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore
import TransferEngine

/// The judge of an upload world.
extension UploadLife {
    /// The faults after which the server has bytes that it was not sent for their place, or says it has what it has not.
    private static let lying: Set<UploadQuirk> = [.wrongOffset, .early]

    /// The faults after which a client cannot know what the server has.
    private static let misleading: Set<UploadQuirk> = [
        .expires, .losesTail, .gone, .denied, .conflict, .wrongOffset, .omitsOffset, .badChecksum, .early, .locked,
    ]

    private var isMisled: Bool { !self.site.used.isDisjoint(with: Self.misleading) }

    // MARK: The end of a run

    /// Judges the end of the upload when it is reported.
    func judge(_ ending: TransferEvent.Kind, isTwin: Bool) {
        if !isTwin { self.ending = ending }
        switch ending {
        case .finished(let completion): self.judge(completion)
        case .failed(let failure):
            let texts = ["changed during the upload", "changed since its upload started"]
            if texts.contains(where: failure.message.contains) { self.hasReportedChange = true }
            // Whether the source has changed is not known: the upload failed, and the user knows why.
            let isUnknown = !self.faults.met.isEmpty && failure.message.contains("cannot read the attributes of")
            if isUnknown { self.hasReportedChange = true }
            self.result.count("failed: \(failure.code.rawValue)")
            if failure.message.isEmpty { self.result.fail("a failure has no message: \(failure.code.rawValue)") }
            if !self.isTrue(failure) {
                self.result.fail("the reason of a failure is not true: \(failure.code.rawValue), \(failure.message)")
            }
        default:
            self.result.count("cancelled")
            if self.cancelledAt == nil { self.result.fail("the upload is said to be cancelled, without a request") }
        }
    }

    private func judge(_ completion: TransferCompletion) {
        self.result.count("finished")
        // Bytes that the connection had accepted may not have arrived: only the server knows.
        if self.site.used.contains(.early) || self.site.used.contains(.redirectsToGet) {
            return self.result.count("finished, by what the server says")
        }
        let model = self.site.model
        let complete = model.resources.values.filter(\.isComplete)
        guard complete.contains(where: { self.source.has($0.bytes) }) else {
            // Documented: two processes continue one upload, and the cancellation of either removes it.
            if self.hadTwin, self.cancelledAt != nil { return self.result.count("finished, and removed by the other") }
            return self.result.fail("the upload is said to be finished, and the server has no version of the source")
        }
        let own = model.completions[self.completionsBefore...]
        if !self.hadTwin, let last = own.last, !self.source.has(last.bytes) {
            self.result.fail("the upload is said to be finished, and the server's copy is no version of the source")
        }
        if !self.source.versions.contains(where: { Int64($0.count) == completion.bytes }) {
            self.result.fail("the upload is said to have \(completion.bytes) bytes, which no version has")
        }
    }

    // MARK: The end of a process

    func judgeDescriptors(of command: UploadCommand) {
        let number = command.process.number
        let (open, locks) = (self.disk.openDescriptors(of: number), self.disk.locks(of: number))
        // What a rate limit holds back has the source open until its time comes, also after the end of its transfer.
        let isLimited = self.terms.actions.contains { if case .rate = $0.action { true } else { false } }
        if open > (isLimited ? 1 : 0) || locks > 0 {
            self.result.fail("process \(number) has \(open) open descriptors and \(locks) locks at its end")
        }
    }

    func judgeExit(of command: UploadCommand) {
        self.judgeDescriptors(of: command)
        if self.ending == nil { self.result.fail("a process exits without the end of its upload") }
        guard !self.faults.hasFaults, !self.hadTwin, !self.hasLostJournal else { return }
        let names = self.disk.names(inDirectory: UploadCommand.state)
        let isOver: Bool
        switch self.ending {
        case .finished: isOver = true
        case .cancelled:
            isOver = self.terms.actions.allSatisfy { if case .cancel(true) = $0.action { false } else { true } }
        default: isOver = false
        }
        // A file that has become too short for a record is sent without a look for one; an old record is removed by its age.
        let shortOnes = self.source.versions.count { Int64($0.count) < UploadMachine.leastAutomatic }
        let hasBecomeShort = shortOnes > 0 && shortOnes < self.source.versions.count
        if isOver, self.kills == 0, !hasBecomeShort, !names.isEmpty {
            self.result.fail("the journal has \(names.joined(separator: ", ")), although the upload is over")
        }
    }

    // MARK: The end of the world

    func finish() {
        if let command {
            self.result.fail("the world does not end after \(self.scheduler.steps) steps: \(command.state)")
            command.process.kill()
            command.dispose()
            self.disk.endProcess(command.process.number)
        }
        if let twin {
            self.result.fail("the second process does not end: \(twin.state)")
            twin.process.kill()
            self.twinEnded(twin)
        }
        self.result.count("kills", self.kills)
        self.result.count("runs", self.runs)
        self.result.count("requests", self.site.records.count)
        for quirk in self.site.used { self.result.count("server \(quirk.rawValue)") }
        self.judgeResources()
        self.judgeRepetitions()
        self.judgeBytes()
        self.judgeCancellation()
    }

    /// No resource of a resumable protocol mixes versions, unless it could not be deleted.
    private func judgeResources() {
        guard self.site.used.isDisjoint(with: Self.lying), self.ending != nil else { return }
        guard !self.hadTwin || self.source.changes.isEmpty else { return }
        for (path, resource) in self.site.model.resources.sorted(by: { $0.key < $1.key }) {
            guard resource.isComplete, !resource.bytes.isEmpty, !self.source.has(resource.bytes) else { continue }
            // All content may have been sent when the change is noticed: the failure says that the copy may be a mixture.
            // The server's copy is deleted then, if that is possible.
            if self.hasReportedChange, resource.isSingle || self.mayKeepChanged { continue }
            // Or when the user cancels, to continue later: the server's data stays.
            if case .cancelled? = self.ending { continue }
            // Or when the user pauses, and the source is removed before it is looked at again.
            if !self.pauses.isEmpty, self.source.wasRemoved { continue }
            self.result.fail("the server holds a mixture of versions at \(path)")
        }
    }

    /// Whether something may have prevented the deletion of an upload whose source has changed.
    private var mayKeepChanged: Bool {
        self.kills > 0 || !self.site.used.isEmpty || !self.network.outages.isEmpty || self.network.shortageOneIn > 0
            || self.network.staleOneIn > 0 || self.faults.hasFaults || !self.pauses.isEmpty || self.hasLostJournal
    }

    /// Judges repetitions: a request with an effect is performed once.
    private func judgeRepetitions() {
        let completions = self.site.model.completions
        let single = completions.filter { $0.path.hasPrefix("/stored/") }.count
        if single > 1, self.terms.method == "POST", self.site.records.values.allSatisfy({ $0.quirk != .redirectsToGet })
        {
            self.result.fail("the server has processed a POST \(single) times")
        }
        let resources = completions.filter { $0.path.hasPrefix("/files/") || $0.path.hasPrefix("/resumption/") }
        // Without a journal, a run knows nothing of earlier ones; a draft's creation without 104 is like a PUT.
        // A pause may come while the address of the resource is on its way.
        let others = (self.hadTwin ? 2 : 0) + (self.hasLostJournal ? 1 : 0)
        let spare = others + (self.terms.hasJournal ? self.kills : self.runs - 1) + (self.pauses.isEmpty ? 0 : 1)
        let isKnown = self.site.model.sendsInterim || resources.allSatisfy { $0.path.hasPrefix("/files/") }
        // The creation of an empty upload completes it, and a redirect after the content asks for it once more.
        guard self.source.length > 0, !self.site.used.contains(.redirectsToGet) else { return }
        if resources.count > 1 + spare, !self.isMisled, isKnown, self.source.changes.isEmpty, !self.faults.hasFaults {
            self.result.fail("one upload became \(resources.count) complete resources")
        }
    }

    /// No bytes are sent again that nothing forced.
    private func judgeBytes() {
        let isDisturbed = self.network.outages.contains { $0.breaksConnections } || !self.pauses.isEmpty
        guard !self.isMisled, !isDisturbed, !self.hadTwin, !self.hasLostJournal, self.cancelledAt == nil,
            self.source.changes.isEmpty,
            self.terms.options.totalTimeout == .zero, !self.faults.hasFaults
        else { return }
        var sums: [Int: Int64] = [:]
        for record in self.site.records.values where record.quirk == nil {
            if record.wasInterrupted, self.killed.contains(record.process) { continue }
            sums[record.process, default: 0] += record.read
        }
        let most = Int64(Double(self.source.length) * 1.05) + 64
        if let (process, sum) = sums.min(by: { $0.key < $1.key }).flatMap({ _ in sums.max { $0.value < $1.value } }),
            sum > most
        {
            self.result.fail("process \(process) has sent \(sum) of \(self.source.length) bytes, undisturbed")
        }
    }

    /// A cancelled upload is deleted at the server.
    private func judgeCancellation() {
        guard case .cancelled? = self.ending, let cancelledAt, self.kills == 0, !self.hadTwin, self.site.used.isEmpty,
            self.network.outages.isEmpty, self.network.shortageOneIn == 0, self.network.staleOneIn == 0,
            !self.faults.hasFaults, self.source.changes.isEmpty,
            self.terms.actions.allSatisfy({ if case .cancel(true) = $0.action { false } else { true } })
        else { return }
        for (path, resource) in self.site.model.resources.sorted(by: { $0.key < $1.key }) where !resource.isSingle {
            guard let named = self.site.namedAt[path] else { continue }
            // A name that was on its way when the user paused or cancelled is not known.
            let arrival = named + 2 * self.network.roundTrip + 10_000_000
            guard arrival < cancelledAt, !self.pauses.contains(where: { named...arrival ~= $0 }) else { continue }
            self.result.fail("the cancelled upload is still at \(path)")
        }
    }

    // MARK: Reasons

    /// Whether the server holds a file under the name of the upload that a version of the source differs from.
    ///
    /// It does not matter why the server responded with 409: the file was compared.
    private var holdsAnotherFile: Bool {
        guard let stored = self.site.model.resources[UploadCommand.path], stored.isSingle else { return false }
        return self.source.versions.contains { $0 != stored.bytes }
    }

    /// Whether something happened in the world that a failure's code names.
    private func isTrue(_ failure: TransferFailure) -> Bool {
        let (met, statuses, used) = (self.network.met, self.site.statuses, self.site.used)
        func hasStatus(_ range: ClosedRange<Int>) -> Bool { statuses.contains { range.contains($0) } }
        let hasDiskFault = !self.faults.met.isEmpty || self.faults.wasLimited
        switch failure.code {
        case .timeout:
            return met.contains(.connectTimeout) || self.terms.options.totalTimeout != .zero
                || !used.isDisjoint(with: [.silent, .stalls, .pauses, .slow])
        case .notFound: return statuses.contains(404) || statuses.contains(410)
        case .nameResolution: return met.contains(.nameResolution)
        case .connectionRefused: return met.contains(.refused)
        case .hostUnreachable: return met.contains(.unreachable)
        case .connectionReset: return met.contains(.reset)
        case .network: return !met.isDisjoint(with: [.connect, .broken, .truncated, .localResource, .reset])
        case .cannotResume:
            return hasStatus(400...499) || self.terms.way == .by(.tus) && !self.site.model.speaksTus
                || self.terms.method == "POST" || !met.isEmpty
        case .cannotCreate, .cannotCreateDirectory: return hasDiskFault
        case .fileIO, .cannotOpen: return hasDiskFault || !self.source.changes.isEmpty
        case .badResponse:
            return hasStatus(400...599) || met.contains(.malformed) || self.isMisled || hasStatus(201...201)
        case .fileExists: return statuses.contains(409) && self.holdsAnotherFile
        case .redirects: return hasStatus(300...399)
        case .authentication: return statuses.contains(401) || statuses.contains(403)
        case .overloaded: return statuses.contains(429) || statuses.contains(503)
        case .tooLarge: return statuses.contains(413) || self.site.model.limit != nil
        case .noSpace: return statuses.contains(507) || hasDiskFault
        default: return false
        }
    }
}
