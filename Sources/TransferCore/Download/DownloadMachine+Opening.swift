// SPDX-License-Identifier: Apache-2.0
/// Creates the file for a first response.
extension DownloadMachine {
    /// The maximum declared length of files without a journal.
    package static var smallLimit: Int64 { 256 << 10 }

    /// Uses a response that starts at byte 0 for a new file.
    ///
    /// - Parameters:
    ///   - index: Its request.
    ///   - head: Its head.
    ///   - length: The length of the whole representation, if the response declares it.
    ///   - part: The range that the response carries, if not the whole.
    ///   - now: The time.
    mutating func openFile(
        _ index: Int,
        _ head: ResponseHead,
        _ length: Int64?,
        part: ByteRange? = nil,
        _ now: Int64
    ) {
        let pending = Opening.Pending(
            request: self.requests[index].number,
            head: head,
            length: length,
            part: part
        )
        if let base = self.proposedName(head, self.requests[index].url) { return self.relocate(base, pending) }
        if self.keepsExisting(head, now) { return }
        self.createFile(pending, now)
    }

    mutating func createFile(_ pending: Opening.Pending, _ now: Int64) {
        guard let index = self.index(of: pending.request) else { return }
        let (head, length, part) = (pending.head, pending.length, pending.part)
        let isSmall = part == nil && length.map { $0 <= Self.smallLimit } ?? false
        let facts = self.facts(of: head, from: index, length: length, includesMediaType: !isSmall)
        let accepted = self.accept(facts, head, index, part: part)
        self.publishTarget()
        self.report(head, length)
        self.phase = .opening(.creating(accepted))
        if isSmall {
            self.emit(.createSmall(self.name.target, accepted.request))
        } else {
            self.requests[index].isPaused = true
            self.createPartial(accepted, as: self.name.target, closing: .none)
        }
    }

    /// Adopts the response for which the file is created.
    mutating func accept(
        _ facts: Boxed<ResourceFacts>,
        _ head: ResponseHead,
        _ index: Int,
        part: ByteRange?
    ) -> Opening.Accepted {
        let acceptsRanges = part != nil || head.fields["Accept-Ranges"].map { $0.lowercased() == "bytes" } ?? false
        self.requests[index].stage = .receiving
        self.requests[index].isPart = part != nil
        self.requests[index].responseEnd = part?.upperBound ?? facts.length
        self.connections.hasTaken = true
        self.pin(index)
        return Opening.Accepted(
            request: self.requests[index].number,
            facts: facts,
            digests: part == nil ? Self.digests(in: head) : Self.digests(of: facts.value),
            doesRanges: !self.refusesRanges && acceptsRanges,
            verifiedLength: head.framing != .untilClose,
            target: self.name.target
        )
    }

    /// Pins the redirect target of a source for all further ranges of this run.
    mutating func pin(_ index: Int) {
        let request = self.requests[index]
        guard request.flow.hops > 0 else { return }
        self.pinned[request.source] = RequestFlow(request.url, hasLeftOrigin: request.flow.hasLeftOrigin)
    }

    mutating func facts(
        of head: ResponseHead,
        from index: Int,
        length: Int64?,
        includesMediaType: Bool = true
    ) -> Boxed<ResourceFacts> {
        var facts = ResourceFacts(
            url: self.terms.sources[self.requests[index].source].withoutUserInfo,
            finalURL: self.requests[index].url.redacted,
            length: length,
            fields: head.fields,
            received: self.wallNow,
            includesMediaType: includesMediaType
        )
        if self.history.takesSingleResponse { facts.isUnreliable = true }
        return Boxed(facts)
    }

    // MARK: Small files

    /// The small file is open.
    package mutating func smallCreated(_ now: Int64) -> [DownloadAction] {
        guard self.wantsFile, case .opening(.creating(let accepted)) = self.takePhase() else { return [] }
        if let index = self.index(of: accepted.request) { self.requests[index].bodySince = now }
        self.phase = .small(
            SmallDownload(
                length: accepted.facts.length ?? 0,
                facts: accepted.facts,
                digests: accepted.digests,
                doesRanges: accepted.doesRanges,
                verifiedLength: accepted.verifiedLength
            )
        )
        return []
    }

    // MARK: Partial files

    mutating func createPartial(
        _ accepted: Opening.Accepted,
        as target: FileTarget,
        closing current: PartialPlan.Current
    ) {
        var algorithms: [DigestAlgorithm] = []
        if (self.connections.fixed ?? 1) == 1 {
            algorithms = self.terms.expected.map(\.algorithm) + accepted.digests.map(\.algorithm)
            if let report = self.terms.reportDigest, !algorithms.contains(report) { algorithms.append(report) }
        }
        self.emit(
            .createPartial(
                PartialPlan(
                    request: accepted.request,
                    target: target,
                    facts: accepted.facts,
                    current: current,
                    algorithms: algorithms
                )
            )
        )
    }

    /// The partial file is open and empty.
    ///
    /// If the run has ended, or the request, the file is to be discarded.
    package mutating func partialCreated(_ now: Int64) -> [DownloadAction] {
        guard case .opening(.creating(let accepted)) = self.phase,
            let index = self.index(of: accepted.request)
        else { return [] }
        let request = self.requests[index]
        var fetching = Fetching(
            .partial,
            SegmentPlanner(length: accepted.facts.length),
            facts: accepted.facts,
            now: now
        )
        fetching.recorded = accepted.facts
        fetching.digests = accepted.digests
        fetching.doesRanges = accepted.doesRanges
        fetching.verifiedLength = accepted.verifiedLength
        _ = fetching.planner.assign(to: request.number, minimumSplit: self.terms.minimumSplit)
        self.phase = .fetching(fetching)
        self.requests[index].hasExtent = true
        // The pieces are assigned before the first connection resumes reading: all start at the same time.
        self.openConnections(lane: request.lane, now)
        self.emit(.beginExtent(request.number, at: 0))
        self.emit(.endPause(request.number))
        return self.takeActions()
    }

    /// Whether a file that was just created is still wanted.
    package var wantsFile: Bool {
        guard case .opening(.creating(let accepted)) = self.phase else { return false }
        return self.contains(accepted.request)
    }

    /// A file could not be created, copied or read.
    package mutating func storageFailed(_ error: StorageError) -> [DownloadAction] {
        if case .opening(.creating) = self.phase, error.code == .exists || error.code == .inUse {
            // Another process created a partial file of this name since the survey.
            if self.older == nil {
                self.emit(.survey(self.name.target))
            } else {
                // What is beside the older file is not this run's. Another process may let it take the older one's place.
                if error.code == .inUse { self.older = nil } else { self.older?.isApart = true }
                self.useNextName(error.message)
            }
        } else {
            self.end(self.outcome(TransferFailure(error)))
        }
        return self.takeActions()
    }

    /// Marks a request as reading again after a pause.
    mutating func resumeReading(_ index: Int, _ now: Int64) {
        self.requests[index].isPaused = false
        self.requests[index].lastActivity = now
        if self.requests[index].bodySince == nil { self.requests[index].bodySince = now }
    }

    // MARK: Streams

    /// Uses a response that starts at byte 0 for a stream.
    mutating func openStream(
        _ index: Int,
        _ head: ResponseHead,
        _ length: Int64?,
        part: ByteRange? = nil,
        _ now: Int64
    ) {
        let facts = self.facts(of: head, from: index, length: length)
        let accepted = self.accept(facts, head, index, part: part)
        self.history.stream.facts = facts
        self.history.stream.serverDigests = accepted.digests
        var fetching = Fetching(.stream, SegmentPlanner(length: length), facts: facts, now: now)
        fetching.digests = accepted.digests
        fetching.doesRanges = accepted.doesRanges
        fetching.verifiedLength = accepted.verifiedLength
        _ = fetching.planner.assign(to: accepted.request, minimumSplit: Int64.max / 4)
        self.phase = .fetching(fetching)
        var algorithms = self.terms.expected.map(\.algorithm) + accepted.digests.map(\.algorithm)
        if let report = self.terms.reportDigest { algorithms.append(report) }
        if !algorithms.isEmpty { self.emit(.beginStreamDigests(algorithms)) }
        self.report(head, length)
        if length == 0 {
            self.retire(index)
            self.commit(now)
        }
    }

    /// Finishes without fetching: the file already exists.
    mutating func skip(
        size: Int64,
        verified: Bool = false,
        isUnchanged: Bool = false,
        isUnexamined: Bool = false,
        _ now: Int64
    ) {
        var completion = TransferCompletion(
            path: self.name.path,
            bytes: size,
            received: 0,
            duration: .nanoseconds(now - self.startedAt),
            skipped: true
        )
        completion.verified = verified
        completion.isUnexamined = isUnexamined
        completion.unchanged = isUnchanged || verified && self.name.rule == .update
        if verified { completion.consistency = .digest }
        self.end(.finished(completion))
    }
}
