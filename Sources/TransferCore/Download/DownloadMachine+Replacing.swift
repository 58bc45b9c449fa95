// SPDX-License-Identifier: Apache-2.0
/// Handles responses that carry the whole representation, and replaces held bytes with them.
extension DownloadMachine {
    mutating func receivedWhole(_ index: Int, _ head: ResponseHead, _ length: Int64?, _ now: Int64) {
        switch self.phase {
        case .opening(.awaiting):
            if self.destination == .file { return self.openFile(index, head, length, now) }
            self.openStream(index, head, length, now)
        case .fetching(let fetching):
            switch fetching.held {
            case .stream where self.history.stream.count == 0: self.openStream(index, head, length, now)
            case .stream: self.readAgain(index, head, length, fetching, now)
            case .partial: self.wholeInsteadOfPart(index, head, length, fetching, now)
            case .existing(let existing):
                if self.terms.expected.isEmpty, self.isCurrent(existing, head) {
                    return self.skip(size: existing.size, now)
                }
                self.restart(index, "the server does not send parts", now)
            }
        case .locating, .opening, .small, .committing, .ended, .borrowed: self.retire(index)
        }
    }

    /// Handles a response that begins at byte 0 while bytes of the file are held.
    ///
    /// - Parameters:
    ///   - index: Its request.
    ///   - head: Its head.
    ///   - length: The length of the whole representation, if the response declares it.
    ///   - range: The range of a 206; `nil` for a 200, which carries the whole.
    ///   - fetching: The data of the phase.
    ///   - now: The time.
    mutating func wholeInsteadOfPart(
        _ index: Int,
        _ head: ResponseHead,
        _ length: Int64?,
        range: ByteRange? = nil,
        _ fetching: Fetching,
        _ now: Int64
    ) {
        let part = range?.upperBound == length ? nil : range
        let request = self.requests[index]
        let response = self.facts(of: head, from: index, length: length)
        let held = fetching.facts ?? response
        let context = self.context(fetching, request)
        let hasOthers = self.requests.count > 1
        var replacement = VersionJudge.replacement(by: response.value, of: held.value, context)
        if case .same = replacement, request.sentIfRange, range == nil {
            // The server responds as if the file had changed, although the validator is the same.
            self.history.ranges.omitsIfRange = true
            return hasOthers ? self.dismiss(index, isRefusal: false, now) : self.relaunch(index, now)
        }
        let isSuspicious = if case .suspicious = replacement { true } else { false }
        if request.sentIfRange, range == nil, !hasOthers, !held.isUnreliable, !isSuspicious,
            VersionJudge.relation(of: response.value, to: held.value, context) == .comparable
        {
            // Nodes may generate different tags: without the condition the server sends a part, which can be compared.
            self.history.ranges.omitsIfRange = true
            self.history.ranges.wantsOverlap = true
            return self.relaunch(index, now)
        }
        if hasOthers { return self.dismiss(index, isRefusal: true, now) }
        if held.isUnreliable || self.history.takesSingleResponse, case .same = replacement {
            replacement = .restart(Self.alternation(held.value))
        } else if !self.isVouched(fetching), case .same = replacement {
            replacement = .restart("the received data cannot be verified: the value of its digest is lost")
        }
        let isEmpty = fetching.isEmpty
        switch replacement {
        case .same where !isEmpty && range != nil:
            // The server sends ranges: the missing one is requested, unless it sent others than requested before.
            if self.refusesRanges, !self.mayRestart("the server sends parts, but not those requested") { return }
            self.fetching?.requestsWhole = false
            self.relaunch(index, now)
        case .same(let consistency) where !isEmpty: self.passOver(index, head, response, consistency, now)
        case .same: self.replace(index, head, response, of: held, beside: false, part: part)
        case .restart(let reason):
            if fetching.isForeign, !self.terms.nameIsExact { return self.decline(index, reason, fetching) }
            if self.canDoWithout(request) { return self.sourceDisagrees(index, reason, now) }
            if !isEmpty {
                // A response to a restart is counted already.
                if !fetching.requestsWhole || fetching.owesRestart, !self.mayRestart(reason) { return }
                self.note("\(held.isUnreliable ? Self.explained(reason, held.value) : reason): restarting")
            }
            self.replace(index, head, response, of: held, beside: false, part: part)
        case .suspicious(let reason):
            let failure = TransferFailure(
                .badResponse,
                "\(reason); the received data is kept",
                remedy: "log in to the network, or try again later",
                isRetryable: true
            )
            self.fail(index, failure, now)
        case .beside(let reason):
            if isEmpty { return self.replace(index, head, response, of: held, beside: false, part: part) }
            if self.canDoWithout(request) { return self.sourceDisagrees(index, reason, now) }
            if !fetching.requestsWhole || fetching.owesRestart, !self.mayRestart(reason) { return }
            self.note("\(reason): restarting, while the received data is kept")
            self.replace(index, head, response, of: held, beside: true, part: part)
        }
    }

    /// Handles a whole response of the same version: compares and skips the held bytes at its beginning.
    private mutating func passOver(
        _ index: Int,
        _ head: ResponseHead,
        _ response: Boxed<ResourceFacts>,
        _ consistency: Consistency,
        _ now: Int64
    ) {
        self.note("the server does not send parts: skipping the received data")
        let number = self.requests[index].number
        guard case .fetching(let fetching) = self.phase else { return }
        let prefix = fetching.planner.heldPrefix
        self.fetching?.continuePrefix(length: response.length ?? fetching.planner.length)
        _ = self.fetching?.planner.assign(to: number, minimumSplit: Int64.max / 4)
        self.fetching?.requestsWhole = false
        self.requests[index].range = nil
        self.requests[index].overlap = 0
        self.requests[index].repeated = prefix
        self.requests[index].basis = consistency
        self.requests[index].facts = response
        self.requests[index].stage = .receiving
        self.requests[index].responseEnd = response.length
        self.connections.hasTaken = true
        let isAccepted = self.acceptRange(index, now)
        // The response does not show that the server supports ranges.
        self.history.ranges.isRefused = true
        self.history.ranges.isProven = false
        guard isAccepted else {
            let failure = TransferFailure(.fileIO, "the response does not match the file", isRetryable: true)
            return self.fail(index, failure, now)
        }
        self.report(head, response.length)
    }

    /// Replaces the held bytes by a whole response; reading pauses until the file is created.
    mutating func replace(
        _ index: Int,
        _ head: ResponseHead,
        _ response: Boxed<ResourceFacts>,
        of held: Boxed<ResourceFacts>,
        beside: Bool,
        part: ByteRange? = nil
    ) {
        let facts = Boxed(VersionJudge.successor(response.value, of: held.value))
        var accepted = self.accept(facts, head, index, part: part)
        let target = self.name.target
        if beside {
            let older = OlderPartial(target: target, bytes: self.fetching?.heldBytes ?? 0)
            self.older = older
            accepted.target = older.newer
        }
        self.resumedFrom = 0
        // The response does not continue the user's existing file, which therefore keeps its name.
        if self.name.rule == .resume { self.name.overwrites = false }
        self.requests[index].isPaused = true
        self.requests[index].range = nil
        self.requests[index].overlap = 0
        self.phase = .opening(.creating(accepted))
        self.report(head, response.length)
        self.createPartial(accepted, as: accepted.target, closing: beside ? .keep : .discard)
    }

    // MARK: Restarting

    /// Requests the whole file, within a budget, because a response does not continue the held bytes.
    ///
    /// The held bytes are kept until a whole response replaces them.
    mutating func restart(_ index: Int, _ reason: String, _ now: Int64) {
        let request = self.requests[index]
        if self.isCommitting { return self.retire(index) }
        var held: Int64 = 0
        if case .fetching(let fetching) = self.phase {
            held = fetching.heldBytes
            switch fetching.held {
            case .existing:
                let failure = TransferFailure(
                    .cannotResume,
                    "the existing file is not the beginning of the server's: \(reason)",
                    setting: .existingFiles
                )
                return self.fail(index, failure, now)
            case .stream where held > 0:
                let failure = TransferFailure(
                    .cannotResume,
                    "the output cannot be taken back and cannot be continued: \(reason)"
                )
                // No other source may continue bytes that are known to differ.
                if fetching.facts?.isContradicted ?? false { return self.end(.failed(failure)) }
                return self.fail(index, failure, now)
            case .partial, .stream: break
            }
            if fetching.isForeign, !self.terms.nameIsExact { return self.decline(index, reason, fetching) }
            if self.canDoWithout(request) { return self.sourceDisagrees(index, reason, now) }
            // Without held bytes a first restart loses nothing, and is not counted.
            if held > 0 || fetching.requestsWhole, !self.mayRestart(reason) { return }
        } else if !self.mayRestart(reason) {
            return
        }
        self.note("\(reason): requesting the whole")
        self.retire(index, keepsSlot: true)
        for other in self.requests.indices.reversed() { self.retire(other) }
        self.fetching?.requestsWhole = true
        self.fetching?.owesRestart = false
        self.launchFirst(.fetch, afterClosing: true, now)
    }

    /// Counts a restart; ends the run if there were too many.
    mutating func mayRestart(_ reason: String) -> Bool {
        self.history.restarts += 1
        guard self.history.restarts > Self.restartLimit else { return true }
        let message = self.fetching?.facts.map { Self.explained(reason, $0.value) } ?? reason
        self.end(
            .failed(
                TransferFailure(
                    .badResponse,
                    "\(message); already restarted \(Self.restartLimit) times",
                    remedy: "use a URL of a single server, or set a digest"
                )
            )
        )
        return false
    }

    static var restartLimit: Int { 4 }

    /// The reason of a restart with the versions observed at the URL.
    private static func explained(_ reason: String, _ facts: ResourceFacts) -> String {
        let versions = self.alternation(facts)
        return versions == reason ? reason : "\(reason); \(versions)"
    }

    /// Describes the versions observed at one URL.
    static func alternation(_ facts: ResourceFacts) -> String {
        let seen = facts.formerVersions + [VersionJudge.identity(facts)].compactMap(\.self)
        guard seen.count > 1 else { return "the file must be from one response" }
        return "the address serves several versions: \(seen.joined(separator: ", "))"
    }

    /// Declines to continue a partial file of another URL, because the response does not match it.
    ///
    /// The partial file is kept and another name is taken; if the user chose the name, the transfer fails.
    private mutating func decline(_ index: Int, _ reason: String, _ fetching: Fetching) {
        let refusal =
            "\(self.name.path).part, started from \(fetching.facts?.url ?? ""), is not continued: \(reason)"
        if self.name.isGivenByUser || self.existingFiles.keepsName {
            let failure = TransferFailure(
                .cannotResume,
                refusal,
                remedy: "move it away, or choose another name"
            )
            return self.end(.failed(failure))
        }
        self.retire(index, keepsSlot: true)
        self.resumedFrom = 0
        self.phase = .locating(.surveying)
        self.note("\(refusal); using another name")
        self.emit(.keepPartial)
        self.reserveNextName()
    }

    // MARK: Streams

    /// Handles a whole response to a request for the rest of a stream.
    ///
    /// The bytes delivered before are skipped if the response is of the same version, or if the last of them match.
    private mutating func readAgain(
        _ index: Int,
        _ head: ResponseHead,
        _ length: Int64?,
        _ fetching: Fetching,
        _ now: Int64
    ) {
        let request = self.requests[index]
        let given = self.history.stream.count
        let response = self.facts(of: head, from: index, length: length)
        let keepsBytes = self.terms.destination == .memory(keepsBytes: true)
        let tail = min(given, VersionJudge.overlap)
        var continuation = VersionJudge.Continuation.refused("the received data is unknown")
        if let held = fetching.facts {
            continuation =
                held.isUnreliable
                ? .refused(Self.alternation(held.value))
                : VersionJudge.continuation(
                    of: response.value,
                    after: held.value,
                    self.context(fetching, request),
                    isAdditional: false,
                    overlap: keepsBytes ? given : tail,
                    run: given
                )
        }
        var basis: Consistency?
        switch continuation {
        case .accepted where request.sentIfRange:
            self.history.ranges.omitsIfRange = true
            return self.relaunch(index, now)
        case .accepted(let consistency): basis = consistency
        case .compared where request.sentIfRange, .needsOverlap where request.sentIfRange:
            self.history.ranges.omitsIfRange = true
            self.history.ranges.wantsOverlap = true
            return self.relaunch(index, now)
        case .compared: break
        case .needsOverlap, .needsPrecedingBytes, .refused:
            let reason = if case .refused(let text) = continuation { text } else { "too little of it was received" }
            return self.restart(index, "the server does not resume: \(reason)", now)
        }
        self.note("the server does not send parts: skipping the received data")
        self.history.ranges.isRefused = true
        self.fetching?.planner.release(request.number)
        _ = self.fetching?.planner.assign(to: request.number, minimumSplit: Int64.max / 4)
        self.requests[index].range = nil
        self.requests[index].basis = basis
        self.requests[index].facts = response
        self.requests[index].responseEnd = length
        // Bytes that the receiver keeps are compared while they are skipped; of others only the last ones are kept.
        self.requests[index].overlap = keepsBytes ? 0 : tail
        self.requests[index].compared = 0
        self.requests[index].repeated = given - self.requests[index].overlap
        self.connections.hasTaken = true
        if self.requests[index].overlap > 0 {
            self.requests[index].stage = .comparing
            self.emit(.expectStreamTail(request.number, count: tail))
        } else {
            self.requests[index].stage = .receiving
            if !self.acceptRange(index, now) {
                self.fail(index, TransferFailure(.fileIO, "the response does not match the delivered data"), now)
            }
        }
    }
}
