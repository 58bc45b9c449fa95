// SPDX-License-Identifier: Apache-2.0
/// Handles responses to range requests: takes those whose version `VersionJudge` accepts, and acts on the others.
extension DownloadMachine {
    /// The context for relating a request's response to the held bytes.
    func context(_ fetching: Fetching, _ request: FetchRequest) -> VersionJudge.Context {
        VersionJudge.Context(
            isOtherResource: self.isOtherResource(fetching, request.source),
            isDigestKnown: self.isDigestKnown(fetching)
        )
    }

    // MARK: Ranges

    /// Handles a range that starts where it was requested.
    mutating func receivedRange(
        _ index: Int,
        _ head: ResponseHead,
        _ range: ByteRange,
        _ total: Int64?,
        _ now: Int64
    ) {
        let part = range.upperBound == total ? nil : range
        guard case .fetching(let fetching) = self.phase else {
            guard case .opening(.awaiting) = self.phase, range.lowerBound == 0 else {
                return self.rangesFailed(index, "no file is open", atOnce: false, now)
            }
            if self.destination == .file { return self.openFile(index, head, total, part: part, now) }
            return self.openStream(index, head, total, part: part, now)
        }
        let request = self.requests[index]
        let isAtPiece =
            fetching.planner.piece(of: request.number)
            .map { $0.start == range.lowerBound + request.overlap } ?? true
        if fetching.isPartial, range.lowerBound == 0, fetching.requestsWhole || !isAtPiece {
            // The whole was requested as a range, from a server that sends this file in ranges only.
            return self.wholeInsteadOfPart(index, head, total, range: range, fetching, now)
        }
        let response = self.facts(of: head, from: index, length: total)
        switch self.continuation(of: response, fetching, request, range) {
        case .accepted(let consistency): self.takeRange(index, head, response, range, total, basis: consistency, now)
        case .compared: self.takeRange(index, head, response, range, total, basis: nil, now)
        case .needsOverlap:
            self.requestOverlap(index, run: fetching.planner.run(before: range.lowerBound + request.overlap), now)
        case .needsPrecedingBytes: self.requestFirstPiece(index, fetching, now)
        case .refused(let reason): self.refuse(index, reason, now)
        }
    }

    private func continuation(
        of response: Boxed<ResourceFacts>,
        _ fetching: Fetching,
        _ request: FetchRequest,
        _ range: ByteRange
    ) -> VersionJudge.Continuation {
        let overlap = min(request.overlap, range.upperBound - range.lowerBound)
        let isAdditional = self.requests.contains { $0.number != request.number && $0.isTaken }
        guard let held = fetching.facts else {
            // The user's finished file: only the comparison can show that it is of the same version.
            return overlap == request.overlap ? .compared : .refused("the server sent too few bytes to compare")
        }
        if let length = held.length, range.upperBound > length {
            return .refused("its range ends after the \(length) bytes of the file")
        }
        if request.overlap > 0, let total = response.value.length,
            range.upperBound < min(total, range.lowerBound + request.overlap + 1)
        {
            return .refused("the server's parts are too short to compare them with the received data")
        }
        if fetching.isEmpty, !isAdditional {
            // The response need not continue anything: nothing is held yet.
            if case .different(let reason) = VersionJudge.relation(of: response.value, to: held.value) {
                return .refused(reason)
            }
            return .accepted(.singleResponse)
        }
        return VersionJudge.continuation(
            of: response.value,
            after: held.value,
            self.context(fetching, request),
            isAdditional: isAdditional,
            overlap: overlap,
            run: fetching.planner.run(before: range.lowerBound + request.overlap)
        )
    }

    /// Accepts a range: its overlap, if any, is compared before the rest is written.
    private mutating func takeRange(
        _ index: Int,
        _ head: ResponseHead,
        _ response: Boxed<ResourceFacts>,
        _ range: ByteRange,
        _ total: Int64?,
        basis: Consistency?,
        _ now: Int64
    ) {
        let isCompared = self.requests[index].overlap > 0
        self.requests[index].stage = isCompared ? .comparing : .receiving
        self.requests[index].isPart = true
        self.requests[index].basis = basis
        self.requests[index].facts = response
        self.requests[index].responseEnd = range.upperBound
        self.connections.hasTaken = true
        self.fetching?.doesRanges = true
        self.pin(index)
        if !isCompared, !self.acceptRange(index, now) {
            let failure = TransferFailure(.fileIO, "the part does not match the file", isRetryable: true)
            return self.fail(index, failure, now)
        }
        self.takeDigests(head, index)
        if index == 0 { self.report(head, total ?? self.fetching?.facts?.length) }
        if !isCompared { self.openConnections(lane: self.requests[index].lane, now) }
    }

    /// Records that a request's bytes continue the held ones, and opens their extent.
    ///
    /// - Returns: Whether they fit the file.
    mutating func acceptRange(_ index: Int, _ now: Int64) -> Bool {
        let request = self.requests[index]
        guard let response = request.facts, case .fetching(let fetching) = self.phase else { return true }
        self.history.ranges.isProven = true
        self.history.ranges.malformed = 0
        // What is held, not where the range begins: before the part of another connection there is a gap.
        self.kept = max(self.kept, fetching.planner.completed)
        if request.basis != nil { self.history.sources.proven.insert(request.source) }
        let isJoined =
            !fetching.isEmpty
            || self.requests.contains { $0.number != request.number && $0.isTaken }
        var facts = (fetching.facts ?? response).value
        var isForeign = fetching.isForeign
        if fetching.facts == nil {
            facts.consistency = .overlap
            facts.continued = fetching.recorded?.value.continued
        } else {
            if isJoined {
                let basis = request.basis ?? .overlap
                facts.consistency = facts.consistency.map { $0.combined(with: basis) } ?? basis
            }
            if isForeign || !isJoined {
                // From now on the response's validators are the reference, and the file belongs to this transfer. A digest
                // that an earlier response declared remains one of this version; parts may omit it.
                var next = response.value
                let keepsDigest = isJoined || self.isShownToBeSame(response, fetching, request)
                if !keepsDigest { self.fetching?.digests = [] }
                if keepsDigest, response.representationDigest == nil {
                    next.representationDigest = facts.representationDigest
                }
                next.consistency = isJoined ? facts.consistency : nil
                next.formerVersions = facts.formerVersions
                next.continued = facts.continued
                next.isUnreliable = facts.isUnreliable
                facts = next
                isForeign = false
            }
            // A part whose total is unknown does not take back what the pieces depend on.
            if facts.length == nil { facts.length = response.length ?? fetching.planner.length }
            if facts.representationDigest == nil { facts.representationDigest = response.representationDigest }
        }
        let boxed = Boxed(facts)
        self.fetching?.facts = boxed
        self.fetching?.isForeign = isForeign
        // Bytes that are joined because a digest of the whole agrees depend on its comparison.
        if self.fetching?.digests.isEmpty ?? false { self.fetching?.digests = Self.digests(of: facts) }
        if let total = response.length, fetching.planner.length == nil {
            guard self.fetching?.planner.setLength(total) ?? false else { return false }
        }
        switch fetching.held {
        case .partial:
            if boxed != fetching.recorded {
                self.fetching?.recorded = boxed
                self.emit(.recordFacts)
            }
            if !request.hasExtent, let piece = self.fetching?.planner.piece(of: request.number) {
                self.requests[index].hasExtent = true
                self.emit(.beginExtent(request.number, at: piece.written))
            }
        case .stream: self.history.stream.facts = boxed
        case .existing: break
        }
        self.requests[index].bodySince = now
        return true
    }

    /// Whether a response alone shows that it is of the version whose facts are known.
    private func isShownToBeSame(
        _ response: Boxed<ResourceFacts>,
        _ fetching: Fetching,
        _ request: FetchRequest
    ) -> Bool {
        guard let held = fetching.facts else { return false }
        let context = VersionJudge.Context(isOtherResource: self.isOtherResource(fetching, request.source))
        if case .same = VersionJudge.relation(of: response.value, to: held.value, context) { return true }
        return false
    }

    /// Requests the range again, starting earlier: the response has too little overlap with the held bytes.
    ///
    /// - Parameters:
    ///   - index: The request.
    ///   - run: The number of held bytes that precede the range's first new byte without a gap.
    ///   - now: The time.
    private mutating func requestOverlap(_ index: Int, run: Int64, _ now: Int64) {
        self.history.ranges.wantsOverlap = true
        // A request that was sent while others were receiving asked for no overlap.
        let hasAsked = self.requests[index].overlap >= min(VersionJudge.overlap, run)
        // The end of the file is asked for after a comparison that left nothing more, and there is more.
        if hasAsked || self.requests[index].isEndProbe {
            return self.refuse(index, "the server's parts are too short to compare them with the received data", now)
        }
        self.relaunch(index, now)
    }

    /// Requests the first missing piece instead of one that no held bytes precede, and with which nothing can be compared.
    ///
    /// The request was sent while another one was going to deliver the bytes before it.
    private mutating func requestFirstPiece(_ index: Int, _ fetching: Fetching, _ now: Int64) {
        guard self.requests.count == 1, fetching.planner.heldPrefix > 0 else {
            return self.refuse(index, "no preceding bytes are available for a comparison", now)
        }
        self.history.ranges.wantsOverlap = true
        self.relaunch(index, now)
    }

    /// Refuses a response that is, or may be, of another version than the held bytes.
    private mutating func refuse(_ index: Int, _ reason: String, _ now: Int64) {
        let request = self.requests[index]
        guard self.requests.count > 1 else { return self.restart(index, reason, now) }
        // The other requests continue with their version.
        self.note("\(request.url.redacted): \(reason); it is not used")
        let isMirror = self.isMirror(request)
        if isMirror { self.history.sources.fallback.insert(request.source) }
        self.dismiss(index, isRefusal: !isMirror, now)
    }

    /// Excludes a source whose responses do not continue the received data.
    mutating func sourceDisagrees(_ index: Int, _ reason: String, _ now: Int64) {
        let request = self.requests[index]
        self.note("\(request.url.redacted): \(reason); it is not used")
        self.history.sources.bad.insert(request.source)
        guard self.requests.count == 1 else { return self.dismiss(index, isRefusal: false, now) }
        // The next run requests it from another source.
        let message = "a mirror does not continue the received data: \(reason)"
        self.end(.retry(TransferFailure(.badResponse, message, isRetryable: true)))
    }

    // MARK: Unrequested parts

    /// Handles a part starting at byte 0 that was sent in place of the whole.
    mutating func receivedFirstPart(
        _ index: Int,
        _ head: ResponseHead,
        _ range: ByteRange,
        _ total: Int64?,
        _ now: Int64
    ) {
        self.history.ranges.isRequired = true
        self.history.ranges.isUnasked = true
        switch self.phase {
        case .opening(.awaiting):
            if self.destination == .file { return self.openFile(index, head, total, part: range, now) }
            self.openStream(index, head, total, part: range, now)
        case .fetching(let fetching):
            if fetching.isStream, fetching.planner.completed == 0 {
                return self.openStream(index, head, total, part: range, now)
            }
            guard fetching.isPartial else {
                return self.rangesFailed(index, "the server sent an unrequested part", atOnce: false, now)
            }
            self.wholeInsteadOfPart(index, head, total, range: range, fetching, now)
        case .locating, .opening, .small, .committing, .ended, .borrowed: self.retire(index)
        }
    }

    /// Handles an unusable response to a range request: falls back to requests without ranges if it repeats.
    mutating func rangesFailed(_ index: Int, _ reason: String, atOnce: Bool, _ now: Int64) {
        let request = self.requests[index]
        if self.requests.count > 1 {
            self.note("\(request.url.redacted): \(reason); the other connections continue")
            return self.dismiss(index, isRefusal: true, now)
        }
        self.history.ranges.malformed += 1
        let repeats = atOnce || self.history.ranges.malformed > 1
        let wasRefused = self.history.ranges.isRefused
        if repeats { self.history.ranges.isRefused = true }
        if repeats, !wasRefused, request.range != nil { return self.restart(index, reason, now) }
        self.fail(index, TransferFailure(.badResponse, reason, isRetryable: true, status: 206), now)
    }

    /// Handles a 416 response, which alone does not prove where the file ends.
    mutating func notSatisfiable(_ index: Int, _ head: ResponseHead, _ now: Int64) {
        let isAlone = self.requests.count == 1
        if self.requests[index].isEndProbe, isAlone, case .fetching(let fetching) = self.phase {
            // The previous response, of the same version, ended at the end of the held bytes.
            let length = fetching.planner.completed
            if self.fetching?.planner.setLength(length) ?? false {
                self.fetching?.facts?.length = length
                self.retire(index)
                if self.fetching?.planner.isComplete ?? false { self.commit(now) }
                return
            }
        }
        if self.requests[index].range == nil {
            let isNews = !self.history.ranges.isRequired && !self.history.ranges.isRefused
            self.history.ranges.isRequired = true
            // Some servers send large files in ranges only.
            if isNews, isAlone { return self.drain(index, head, then: .repeatInRanges, now) }
            let failure = TransferFailure(.badResponse, "the server has no such range (416)", status: 416)
            return self.drain(index, head, then: .fail(failure), now)
        }
        self.refuse(index, "the server has no such range (416)", now)
    }
}
