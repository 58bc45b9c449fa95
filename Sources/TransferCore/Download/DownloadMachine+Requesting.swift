// SPDX-License-Identifier: Apache-2.0
/// Assigns sources, pieces and connection slots to requests.
extension DownloadMachine {
    // MARK: The first request

    /// Starts the first request of a run, or the one that replaces it, with the reserved slot.
    mutating func launchFirst(_ purpose: FetchRequest.Purpose, afterClosing: Bool = false, _ now: Int64) {
        let source = self.chooseSource(on: self.heldSlot)
        let (flow, isPinned) = self.flow(of: source)
        if purpose == .fetch {
            if case .locating = self.phase { self.phase = .opening(.awaiting) }
        }
        var request = self.makeRequest(source, flow, purpose, lane: self.lane, now)
        request.isPinned = isPinned
        self.launch(&request, afterClosing: afterClosing)
    }

    /// Sends the only request of a run with the held slot, or once there is a slot of its host.
    private mutating func launch(_ request: inout FetchRequest, afterClosing: Bool = false) {
        if self.heldSlot == request.origin {
            self.heldSlot = nil
            return self.send(&request, afterClosing: afterClosing)
        }
        self.releaseHeldSlot()
        self.nextRequest = request.number
        if request.isFetch, self.isFetching { self.assignPiece(to: &request) }
        let successor = FetchRequest.Successor(flow: request.flow, purpose: request.purpose)
        request.wait(for: successor)
        self.requests.append(request)
        self.emit(.waitForSlot(request.origin, request.number))
    }

    /// Returns the slot that is held for the next request, if there is one.
    mutating func releaseHeldSlot() {
        if let held = self.heldSlot { self.emit(.release(held)) }
        self.heldSlot = nil
    }

    func makeRequest(
        _ source: Int,
        _ flow: RequestFlow,
        _ purpose: FetchRequest.Purpose,
        lane: Int,
        _ now: Int64
    ) -> FetchRequest {
        FetchRequest(
            number: self.nextRequest + 1,
            lane: lane,
            source: source,
            flow: flow,
            purpose: purpose,
            now: now
        )
    }

    /// Adds a request to the run, with a piece of the file if there are pieces, and sends it.
    mutating func send(_ request: inout FetchRequest, afterClosing: Bool = false) {
        self.nextRequest = request.number
        if request.isFetch, self.isFetching { self.assignPiece(to: &request) }
        let plan = self.plan(for: &request, afterClosing: afterClosing)
        self.requests.append(request)
        self.emit(.send(plan))
    }

    private mutating func assignPiece(to request: inout FetchRequest) {
        let minimum = self.terms.minimumSplit
        let isAlone = self.requests.isEmpty && self.wantedConnections == 1
        guard let piece = self.fetching?.planner.assign(to: request.number, minimumSplit: minimum, joining: isAlone),
            case .fetching(let fetching) = self.phase
        else { return }
        let isWhole = piece.start == 0 && piece.end == (fetching.planner.length ?? Int64.max)
        if !self.terms.asksForWhole || self.refusesRanges || fetching.requestsWhole
            || (isWhole && fetching.facts?.length == nil)
        {
            return
        }
        request.isEndProbe = request.isEndProbe || fetching.probesEnd
        request.overlap = fetching.probesEnd ? 0 : self.overlap(fetching, request.source, before: piece.start)
        request.range = piece.start - request.overlap..<piece.end
    }

    /// Whether the whole is requested, because ranges are not supported or not wanted.
    var refusesRanges: Bool { self.history.ranges.isRefused || self.history.takesSingleResponse }

    /// The number of held bytes to request again, so that the response can be compared with them.
    private func overlap(_ fetching: Fetching, _ source: Int, before start: Int64) -> Int64 {
        let run = fetching.planner.run(before: start)
        guard run > 0 else { return 0 }
        let longest = min(run, VersionJudge.overlap)
        guard let facts = fetching.facts else { return min(run, Self.existingOverlap) }
        // Without a known length the range might start at the end of the file, which the server would reject (416).
        let shortest: Int64 = fetching.planner.length == nil ? 1 : 0
        if self.requests.contains(where: \.isTaken) { return shortest }
        if self.history.ranges.wantsOverlap || VersionJudge.requiresComparison(facts.value) { return longest }
        if self.isDigestKnown(fetching) { return shortest }
        if self.isOtherResource(fetching, source), !self.history.sources.proven.contains(source) { return longest }
        return Validators(facts.value).isStrong ? shortest : longest
    }

    /// Describes the request; records in it the data to which its response must be related.
    private mutating func plan(for request: inout FetchRequest, afterClosing: Bool) -> FetchPlan {
        if request.range == nil, request.isFetch, self.terms.asksForWhole, self.history.ranges.isRequired,
            !self.history.ranges.isRefused
        {
            request.range = 0..<Int64.max
        }
        let condition = request.range == nil && request.isFetch ? self.revalidation : []
        if request.range == nil {
            request.isConditional = request.isFetch && self.terms.isConditional || !condition.isEmpty
        }
        let part = request.range.map { self.part($0, of: &request) }
        // It is sent again only after a response that refused it.
        if !self.mayRepeat(self.method(of: request)) { self.hasSentUnrepeatable = false }
        return FetchPlan(
            request,
            method: self.method(of: request),
            range: part?.range,
            ifRange: part?.ifRange,
            overlap: part?.overlap,
            condition: condition,
            waitsForClosing: afterClosing
        )
    }

    /// The fields of a request for a range, and the held bytes that its response repeats.
    private func part(
        _ range: ByteRange,
        of request: inout FetchRequest
    ) -> (range: String, ifRange: String?, overlap: ByteRange?) {
        guard case .fetching(let fetching) = self.phase else {
            return (RangeField.bytes(from: range.lowerBound), nil, nil)
        }
        let isTail = range.upperBound == Int64.max || range.upperBound == fetching.planner.length
        let field = isTail ? RangeField.bytes(from: range.lowerBound) : RangeField.bytes(range)
        var validator: String?
        if let facts = fetching.facts, !self.history.ranges.omitsIfRange,
            !self.isOtherResource(fetching, request.source)
        {
            validator = Validators(facts.value).ifRange
        }
        request.sentIfRange = validator != nil
        let overlap = request.overlap > 0 ? range.lowerBound..<range.lowerBound + request.overlap : nil
        return (field, validator, overlap)
    }

    func method(of request: FetchRequest) -> String {
        if case .examine(byGET: false) = request.purpose { return "HEAD" }
        return request.flow.method(self.terms.method)
    }

    // MARK: Sources

    /// Chooses the source of a request.
    ///
    /// - Parameters:
    ///   - avoided: A source that is chosen only if there is no other one.
    ///   - host: The host at which the run was admitted: that of a mirror if the host of the first source is held.
    /// - Returns: The source.
    func chooseSource(avoiding avoided: Int? = nil, on host: Origin? = nil) -> Int {
        let sources = self.terms.sources
        if sources.count == 1 { return 0 }
        let requests = self.requests
        let isMoved = host != nil && host != sources[0].origin
        return self.history.sources.choose(
            of: sources.count,
            avoiding: avoided,
            preferring: { isMoved && sources[$0].origin == host },
            load: { source in requests.count { $0.source == source } }
        )
    }

    /// The start of a request to a source: at the target of an earlier redirect of this run, a fresh link, or its own URL.
    func flow(of source: Int) -> (flow: RequestFlow, isPinned: Bool) {
        if let pinned = self.pinned[source] { return (pinned, true) }
        return (RequestFlow(self.history.sources.freshLinks[source] ?? self.terms.sources[source]), false)
    }

    /// Whether a source is a resource other than that of the held bytes.
    func isOtherResource(_ fetching: Fetching, _ source: Int) -> Bool {
        guard let facts = fetching.facts else { return false }
        return fetching.isForeign || facts.url != self.terms.sources[source].withoutUserInfo
            || self.history.sources.freshLinks[source] != nil
    }

    /// Whether a digest of the whole will be compared before the file gets its name.
    func isDigestKnown(_ fetching: Fetching) -> Bool { !self.terms.expected.isEmpty || !fetching.digests.isEmpty }

    /// Whether the held bytes do not depend on a digest whose value has been lost.
    func isVouched(_ fetching: Fetching) -> Bool {
        fetching.facts?.consistency != .digest || self.isDigestKnown(fetching)
    }

    /// Whether the held bytes may get their name once they are complete.
    func mayCommit(_ fetching: Fetching) -> Bool {
        self.isVouched(fetching) && fetching.facts.map { !$0.isContradicted } ?? true
    }

    /// Whether a request uses a mirror and another source can replace it.
    func canDoWithout(_ request: FetchRequest) -> Bool {
        guard self.terms.sources.count > 1, self.isMirror(request) else { return false }
        return self.history.sources.bad.union([request.source]).count < self.terms.sources.count
    }

    /// Whether a request uses a source other than that of the held bytes.
    func isMirror(_ request: FetchRequest) -> Bool {
        guard case .fetching(let fetching) = self.phase, let facts = fetching.facts else { return false }
        return facts.url != self.terms.sources[request.source].withoutUserInfo
    }

    // MARK: Further connections

    /// Opens connections while more are wanted and allowed and a piece can be assigned.
    mutating func openConnections(lane: Int, avoiding avoided: Int? = nil, _ now: Int64) {
        guard case .fetching(let fetching) = self.phase, !fetching.planner.isComplete else {
            return self.releaseHeldSlot()
        }
        if self.requests.isEmpty {
            self.reclaimPieces()
            guard self.fetching?.planner.canAssign(minimumSplit: self.terms.minimumSplit) ?? false else {
                return self.releaseHeldSlot()
            }
            let source = self.chooseSource(avoiding: avoided)
            let (flow, isPinned) = self.flow(of: source)
            var request = self.makeRequest(source, flow, .fetch, lane: lane, now)
            request.isAdditional = self.connections.hasTaken
            request.isPinned = isPinned
            self.launch(&request)
        }
        self.releaseHeldSlot()
        if self.requests.count < self.wantedConnections {
            self.emit(.openConnections(lane: lane, avoiding: avoided))
        }
    }

    /// The host of the next further connection, or `nil` if none is wanted.
    package mutating func nextConnection(avoiding avoided: Int?) -> Origin? {
        guard case .fetching(let fetching) = self.phase, !fetching.planner.isComplete,
            self.requests.count < self.wantedConnections
        else { return nil }
        self.reclaimPieces()
        guard self.fetching?.planner.canAssign(minimumSplit: self.terms.minimumSplit) ?? false else { return nil }
        let source = self.chooseSource(avoiding: avoided)
        // A mirror not shown to have the same version cannot be used in parallel with other sources.
        if self.history.sources.fallback.contains(source), !self.requests.isEmpty { return nil }
        return self.flow(of: source).flow.url.origin
    }

    /// A slot of this host was acquired for a further connection.
    package mutating func slotAcquired(
        _ origin: Origin,
        lane: Int,
        avoiding avoided: Int?,
        _ now: Int64
    ) -> [DownloadAction] {
        let source = self.chooseSource(avoiding: avoided)
        let (flow, isPinned) = self.flow(of: source)
        guard self.nextConnection(avoiding: avoided) == origin, flow.url.origin == origin else {
            self.emit(.release(origin))
            return self.takeActions()
        }
        let next = self.requests.isEmpty ? lane : (lane + self.requests.count) % self.terms.laneCount
        var request = self.makeRequest(source, flow, .fetch, lane: next, now)
        request.isAdditional = self.connections.hasTaken
        request.isPinned = isPinned
        self.send(&request)
        return self.takeActions()
    }

    var wantedConnections: Int {
        guard case .fetching(let fetching) = self.phase, fetching.isPartial, fetching.doesRanges,
            fetching.planner.length != nil, let facts = fetching.facts, !self.refusesRanges,
            VersionJudge.allowsParallelRanges(
                facts.value,
                VersionJudge.Context(isDigestKnown: self.isDigestKnown(fetching))
            )
        else { return 1 }
        if let fixed = self.connections.fixed { return fixed }
        let unusable = self.history.sources.bad.union(self.history.sources.fallback).count
        return max(
            self.connections.advisor.wanted,
            min(self.terms.sources.count - unusable, self.connections.mostOfMirrors)
        )
    }

    /// Extends the pieces of requests over adjacent unassigned ones, up to the ends of their responses.
    mutating func reclaimPieces() {
        for request in self.requests where request.isTaken && !request.isComparing && request.repeated == 0 {
            guard let end = request.responseEnd else { continue }
            self.fetching?.planner.reclaim(for: request.number, upTo: end)
        }
    }

    // MARK: Ending requests

    /// Removes a request from the run and releases its piece and its slot.
    ///
    /// - Parameters:
    ///   - index: The request.
    ///   - keepsSlot: Whether the slot is held for the request that replaces it.
    mutating func retire(_ index: Int, keepsSlot: Bool = false) {
        let request = self.requests.remove(at: index)
        if self.isFetching { self.fetching?.planner.release(request.number) }
        self.emit(.close(request.number))
        guard request.holdsSlot else { return }
        if keepsSlot {
            self.releaseHeldSlot()
            self.heldSlot = request.origin
        } else {
            self.emit(.release(request.origin))
            self.hasReturnedSlot = true
        }
    }

    /// Retires one of several requests and returns its piece to the others.
    mutating func dismiss(_ index: Int, isRefusal: Bool, _ now: Int64) {
        let lane = self.requests[index].lane
        self.retire(index)
        let others = self.requests.count
        self.connections.dismissals += 1
        if isRefusal || self.connections.dismissals > Self.dismissalLimit, others > 0 {
            self.connections.refused(having: others)
        }
        self.reclaimPieces()
        self.openConnections(lane: lane, now)
    }

    /// The number of dismissals after which no additional connection is worth its cost.
    private static var dismissalLimit: Int { 16 }

    /// Replaces a request by another that takes over its slot.
    ///
    /// Some servers limit connections: the exchange is closed before the next request is sent.
    mutating func relaunch(_ index: Int, _ now: Int64) {
        self.fetching?.probesEnd = false
        self.retire(index, keepsSlot: true)
        self.launchFirst(.fetch, afterClosing: true, now)
    }

    // MARK: Slots of other hosts

    /// Replaces a request by its successor, whose slot is taken first if it is of another host.
    mutating func follow(_ index: Int, _ successor: FetchRequest.Successor, _ now: Int64) {
        let (origin, holdsSlot) = (self.requests[index].origin, self.requests[index].holdsSlot)
        let next = successor.flow.url.origin
        if next == origin { return self.followAtOnce(index, successor, now) }
        self.requests[index].wait(for: successor)
        if holdsSlot { self.emit(.release(origin)) }
        self.emit(.waitForSlot(next, self.requests[index].number))
    }

    private mutating func followAtOnce(
        _ index: Int,
        _ successor: FetchRequest.Successor,
        _ now: Int64
    ) {
        let request = self.requests.remove(at: index)
        if self.isFetching { self.fetching?.planner.release(request.number) }
        self.emit(.close(request.number))
        var next = self.makeRequest(request.source, successor.flow, successor.purpose, lane: request.lane, now)
        next.isAdditional = request.isAdditional
        next.isPinned = request.isPinned && successor.flow.hops == request.flow.hops
        next.isEndProbe = request.isEndProbe
        self.send(&next)
    }

    /// A slot was taken for a request that waits for it.
    package mutating func slotFreed(
        _ origin: Origin,
        for number: DownloadAction.RequestNumber,
        _ now: Int64
    ) -> [DownloadAction] {
        guard let index = self.index(of: number), case .following(let successor) = self.requests[index].stage else {
            // The request has ended: another transfer may be waiting for the connection.
            self.emit(.release(origin))
            self.emit(.slotsReleased(lane: self.lane))
            return self.takeActions()
        }
        self.followAtOnce(index, successor, now)
        return self.takeActions()
    }
}
