// SPDX-License-Identifier: Apache-2.0
/// Verifies and names complete files, and ends runs.
extension DownloadMachine {
    /// The length above which files are synced before they are named; others only if durability is requested.
    package static var syncedAbove: Int64 { 1 << 20 }

    // MARK: Committing

    /// All bytes are present.
    mutating func commit(_ now: Int64) {
        switch self.takePhase() {
        case .small(let small):
            self.phase = .committing(
                Committing(
                    kind: .small,
                    length: small.length,
                    facts: small.facts,
                    digests: small.digests,
                    verifiedLength: small.verifiedLength
                )
            )
            self.commitAgain()
        case .fetching(let fetching):
            let length = fetching.planner.length ?? fetching.planner.completed
            self.phase = .committing(
                Committing(
                    kind: fetching.isStream ? .stream : .partial,
                    length: length,
                    facts: fetching.facts,
                    digests: fetching.digests,
                    verifiedLength: fetching.verifiedLength
                )
            )
            if fetching.isStream { self.emit(.finishStreamDigests) } else { self.commitAgain() }
        case let other: self.phase = other
        }
    }

    /// Commits under the current name.
    mutating func commitAgain() {
        guard case .committing(let committing) = self.phase else { return }
        let options = self.commitOptions(committing)
        switch committing.kind {
        case .small: self.emit(.commitSmall(self.name.target, options))
        case .partial:
            self.emit(.commitPartial(self.name.target, length: committing.length, options))
        case .stream: break
        }
    }

    private func commitOptions(_ committing: Committing) -> CommitOptions {
        let facts = committing.facts
        var recorded: RecordedVersion?
        if let facts, facts.entityTag != nil || facts.lastModified != nil {
            recorded = RecordedVersion(
                entityTag: facts.entityTag,
                lastModified: facts.lastModified,
                date: facts.date
            )
        }
        let durability: CommitOptions.Durability =
            if committing.kind == .small { self.terms.durable ? .grouped : .none } else {
                self.terms.durable || committing.length > Self.syncedAbove ? .synced : .none
            }
        return CommitOptions(
            overwrite: self.name.overwrites,
            replaces: self.name.overwrites ? self.name.replaceable : nil,
            modified: facts?.lastModified.flatMap { HTTPDate.parse($0) },
            recorded: recorded,
            mark: self.terms.mark,
            durability: durability,
            expected: self.terms.expected + committing.digests,
            report: self.terms.reportDigest,
            keepBad: self.terms.keepBad && !self.mayTakeSingleResponse(committing)
        )
    }

    /// Whether a digest mismatch causes one more fetch, in a single response: the bytes are from several responses.
    private func mayTakeSingleResponse(_ committing: Committing) -> Bool {
        committing.facts?.consistency != nil && !self.history.takesSingleResponse
    }

    /// The file has its name.
    package mutating func committed(digest: [UInt8]?, _ now: Int64) -> [DownloadAction] {
        guard case .committing(let committing) = self.phase else { return [] }
        self.discardOlder()
        let isVerified = !committing.digests.isEmpty || !self.terms.expected.isEmpty
        self.complete(committing, path: self.name.path, digest: digest, isVerified: isVerified, now)
        return self.takeActions()
    }

    /// The file could not be verified or named.
    package mutating func commitFailed(_ error: StorageError) -> [DownloadAction] {
        guard case .committing(let committing) = self.phase else { return [] }
        if error.code == .exists {
            // Another process has taken the name since the survey.
            switch self.existingFiles.collision(overwrites: self.name.overwrites) {
            case .overwrite:
                self.name.overwrites = true
                self.commitAgain()
                return self.takeActions()
            case .compare where committing.kind != .stream:
                self.emit(.survey(self.name.target))
                return self.takeActions()
            case .compare, .nextName:
                self.reserveNextName()
                return self.takeActions()
            case .fail: break
            }
        }
        var failure = TransferFailure(error)
        // The storage has removed the file.
        if error.code == .digestMismatch { self.isNewerWrong = true }
        if error.code == .digestMismatch, committing.kind == .partial, self.mayTakeSingleResponse(committing) {
            // Responses of several versions were joined: retry, over one connection.
            self.history.takesSingleResponse = true
            failure.isRetryable = true
            self.end(.retry(failure))
        } else {
            self.end(self.outcome(failure))
        }
        return self.takeActions()
    }

    /// The files under a name that was found taken at the commit were surveyed.
    ///
    /// If another process has stored the same representation there, it is kept, and the received one is deleted.
    mutating func surveyedDuplicate(_ survey: FileSurvey, _ committing: Committing, _ now: Int64) {
        // A digest would have to be computed of the existing file.
        guard let existing = survey.existing, existing.isRegular, self.terms.expected.isEmpty,
            let facts = committing.facts?.value, self.isCurrent(existing, facts)
        else { return self.useNextName("another program has changed or created it meanwhile") }
        self.discardOlder()
        self.complete(
            committing,
            path: self.name.path,
            digest: nil,
            isVerified: false,
            isSkipped: true,
            now
        )
    }

    private mutating func discardOlder() {
        guard let older = self.older else { return }
        self.older = nil
        self.emit(.discardPartial(older.target))
    }

    /// The digests of a stream's bytes are known: its bytes cannot be taken back, but a mismatch is reported.
    package mutating func streamDigested(_ actual: [DigestAlgorithm: [UInt8]], _ now: Int64) -> [DownloadAction] {
        guard case .committing(let committing) = self.phase else { return [] }
        var isVerified = false
        for expected in self.terms.expected + committing.digests {
            guard let computed = actual[expected.algorithm] else {
                self.note("\(expected.source) arrived too late to verify the output")
                continue
            }
            isVerified = true
            guard computed != expected.bytes else { continue }
            self.end(
                .failed(
                    TransferFailure(
                        .checksumMismatch,
                        "the output is damaged: " + Self.disagreement(expected, computed),
                        remedy: "the written output cannot be revoked; do not use it"
                    )
                )
            )
            return self.takeActions()
        }
        let digest = self.terms.reportDigest.flatMap { actual[$0] }
        self.complete(committing, path: "", digest: digest, isVerified: isVerified, now)
        return self.takeActions()
    }

    private mutating func complete(
        _ committing: Committing,
        path: String,
        digest: [UInt8]?,
        isVerified: Bool,
        isSkipped: Bool = false,
        _ now: Int64
    ) {
        var completion = TransferCompletion(
            path: path,
            bytes: committing.length,
            received: self.earlierReceived + self.received,
            duration: .nanoseconds(self.earlierActiveTime + now - self.startedAt),
            digest: digest,
            skipped: isSkipped,
            verifiedLength: committing.verifiedLength
        )
        completion.verified = isVerified
        completion.consistency = isVerified ? .digest : committing.facts?.consistency ?? .singleResponse
        self.end(.finished(completion))
    }

    // MARK: Ending

    /// The run is paused, stopped or cancelled from outside.
    package mutating func interrupted(_ outcome: RunOutcome) -> [DownloadAction] {
        self.end(outcome)
        return self.takeActions()
    }

    /// The queue stops, and waits for a request that must not be repeated.
    package mutating func stoppedAfterRequest() -> [DownloadAction] {
        self.hasSentUnrepeatable ? [] : self.interrupted(.stopped)
    }

    /// Whether a request may be sent again although the server may have processed it (RFC 9110 §9.2.2).
    func mayRepeat(_ method: String) -> Bool { self.terms.requests.mayRepeat(method) }

    /// The sink, the receiver or the storage failed.
    package mutating func failed(_ failure: TransferFailure) -> [DownloadAction] {
        self.end(self.outcome(failure))
        return self.takeActions()
    }

    /// The outcome of a run that failed locally: it is repeated if descriptors or space were missing and its request
    /// permits it.
    func outcome(_ failure: TransferFailure) -> RunOutcome {
        let mayPass = failure.isShortage || failure.concernsFileSystem
        return mayPass && self.mayRepeat(self.terms.method) ? .retry(failure) : .failed(failure)
    }

    mutating func end(_ asked: RunOutcome) {
        var outcome = asked
        switch self.phase {
        case .ended: return
        case .committing(var committing):
            // A commit is short and cannot be undone: an interruption takes effect only if the commit fails.
            switch asked {
            case .finished: break
            case .failed, .retry: outcome = committing.interruption ?? asked
            case .paused, .stopped, .cancelled:
                committing.interruption = asked
                self.phase = .committing(committing)
                return
            }
        case .locating, .opening, .small, .fetching, .borrowed: break
        }
        switch outcome {
        case .paused, .stopped: if self.hasSentUnrepeatable { self.history.mayBeProcessed = true }
        case .finished, .failed, .retry, .cancelled: break
        }
        let held = self.fetching?.heldBytes ?? self.position.bytes
        let file = self.fileEnding(outcome)
        let ending = DownloadEnding(
            outcome: outcome,
            requests: self.requests.map(\.number),
            kept: self.kept(outcome, file, held),
            file: file,
            older: self.older,
            newerIsLonger: !self.isNewerWrong && self.older.map { held > $0.bytes } ?? false
        )
        for request in self.requests where request.holdsSlot { self.emit(.release(request.origin)) }
        self.releaseHeldSlot()
        self.requests = []
        self.older = nil
        self.phase = .ended
        self.emit(.end(ending))
    }

    /// The progress after a run that did not finish: the bytes that remain; `nil` if the last report has them.
    ///
    /// Reports are sampled: without this one, a failed transfer would show what it had up to a second before its end.
    private func kept(_ outcome: RunOutcome, _ ending: DownloadEnding.FileEnding, _ held: Int64) -> RunProgress? {
        let isOpen =
            switch self.phase {
            case .small, .fetching, .committing: true
            case .locating, .opening, .ended, .borrowed: false
            }
        let kept: Int64
        switch (outcome, ending) {
        case (.finished, _), (_, .none): return nil
        // The storage has removed the file, or set it aside.
        case (.failed(let failure), .keep) where failure.code == .checksumMismatch: kept = self.older?.bytes ?? 0
        case (.retry(let failure), .keep) where failure.code == .checksumMismatch: kept = self.older?.bytes ?? 0
        case (_, .keep):
            guard isOpen else { return nil }
            kept = max(held, self.older?.bytes ?? 0)
        case (_, .keepSmall(_, _, received: let received)): kept = received
        case (_, .discard), (_, .setAside), (_, .discardEarlier): kept = self.older?.bytes ?? 0
        }
        guard kept != max(0, self.reported) else { return nil }
        return RunProgress(bytes: kept, total: self.position.total, rate: 0, secondsLeft: nil, connections: 0)
    }

    private func fileEnding(_ outcome: RunOutcome) -> DownloadEnding.FileEnding {
        let isDiscarded = if case .cancelled(keeping: false) = outcome { true } else { false }
        switch self.phase {
        case .small(let small): return isDiscarded ? .discard : self.smallEnding(small, outcome)
        case .fetching(let fetching):
            switch fetching.held {
            case .partial: break
            case .stream, .existing: return .none
            }
        case .committing(let committing):
            if case .finished(let completion) = outcome { return completion.skipped ? .discard : .none }
            if committing.kind != .partial { return committing.kind == .small ? .discard : .none }
        case .locating, .opening, .ended, .borrowed:
            // The file is from an earlier run, or is being created or opened.
            if isDiscarded { return self.history.target.map { .discardEarlier($0) } ?? .none }
            // The file that it replaces may still be open.
            if case .opening(.creating) = self.phase { return .keep }
            return .none
        }
        return self.endingOfWrongBytes ?? (isDiscarded ? .discard : .keep)
    }

    /// How a file is closed whose bytes are known to be wrong; `nil` if they are not.
    package var endingOfWrongBytes: DownloadEnding.FileEnding? {
        self.holdsWrongBytes ? self.terms.keepBad ? .setAside : .discard : nil
    }

    private func smallEnding(_ small: SmallDownload, _ outcome: RunOutcome) -> DownloadEnding.FileEnding {
        // A failure after the last byte says that there is something wrong with the response.
        let isInterrupted =
            switch outcome {
            case .paused, .stopped, .cancelled: true
            case .finished, .failed, .retry: false
            }
        guard small.received >= Self.smallestKept, small.received < small.length || isInterrupted,
            self.terms.asksForWhole
        else { return .discard }
        return .keepSmall(self.name.target, small.facts.value, received: small.received)
    }

    /// The minimum number of bytes worth keeping; fewer are faster to fetch again.
    private static var smallestKept: Int64 { 16 << 10 }
}
