// SPDX-License-Identifier: Apache-2.0
/// The byte path: the destination of response bytes, and the consequences of their end.
extension DownloadMachine {
    /// Bytes of a response's body arrived.
    ///
    /// Allocates nothing unless a response is drained for a policy. The bytes of `small`, `partial` and `stream` are
    /// counted as received; the driver writes them, then calls `wrote`.
    package mutating func bytesReceived(
        _ body: UnsafeRawBufferPointer,
        _ number: DownloadAction.RequestNumber,
        _ now: Int64
    ) -> ByteDestination {
        guard let index = self.index(of: number) else { return .nowhere }
        self.requests[index].lastActivity = now
        let skip: Int
        switch self.requests[index].stage {
        case .waiting, .deciding, .following, .refreshing: return .unexpected
        case .draining(var draining):
            self.requests[index].stage = .waiting
            let isShort = draining.take(body)
            self.requests[index].stage = .draining(draining)
            return isShort ? .discarded : .tooMany
        case .comparing where self.requests[index].repeated == 0: return self.compareNext(body.count, index)
        case .comparing, .receiving: skip = Int(min(self.requests[index].repeated, Int64(body.count)))
        }
        let mayGrow = !self.requests[index].isComparing
        self.requests[index].repeated -= Int64(skip)
        // A repetition begins with the response.
        let repeatedOffset = self.requests[index].bytes
        // Bytes that have to be compared are counted then.
        let counted = Int64(mayGrow ? body.count : skip)
        self.requests[index].bytes += counted
        self.received += counted
        switch self.phase {
        case .small:
            guard case .small(var small) = self.takePhase() else { return .unexpected }
            small.received += Int64(body.count)
            self.phase = .small(small)
            return .small
        case .fetching:
            // The bytes after the repetition may have to be compared first.
            let new = mayGrow ? body.count - skip : 0
            // In place: the accessor `fetching` would allocate for each chunk.
            guard case .fetching(var fetching) = self.takePhase() else { return .unexpected }
            var count = fetching.planner.reserve(new, for: number)
            self.phase = .fetching(fetching)
            if self.destination != .file {
                let request = self.requests[index]
                let ahead = request.repeated + Int64(skip) + (request.isComparing ? request.overlap : 0)
                return .stream(skip: skip, offset: self.history.stream.count - ahead, count: count)
            }
            guard self.requests[index].hasExtent || new == 0 else { return .unexpected }
            if count < new, self.takeSilentNeighbour(index, now) {
                count += self.fetching?.planner.reserve(new - count, for: number) ?? 0
            }
            return .partial(skip: skip, offset: repeatedOffset, count: count)
        case .locating, .opening, .committing, .ended, .borrowed: return .unexpected
        }
    }

    /// Bytes arrived where none were expected.
    package mutating func unexpectedBytes(
        _ number: DownloadAction.RequestNumber,
        _ now: Int64
    ) -> [DownloadAction] {
        guard let index = self.index(of: number) else { return [] }
        let failure = TransferFailure(.badResponse, "unexpected bytes in the response body", isRetryable: true)
        self.fail(index, failure, now)
        return self.takeActions()
    }

    /// Bytes were written to the file or the stream.
    ///
    /// - Parameters:
    ///   - count: The number of bytes.
    ///   - arrived: The number of new bytes that arrived; those beyond `count` are not part of the request's piece.
    ///   - number: The request.
    ///   - now: The time.
    /// - Returns: The actions; none for most chunks.
    package mutating func wrote(
        _ count: Int,
        of arrived: Int,
        _ number: DownloadAction.RequestNumber,
        _ now: Int64
    ) -> [DownloadAction] {
        // Bytes delivered to a stream count even if the request has since ended.
        if self.destination != .file { self.history.stream.count += Int64(count) }
        guard let index = self.index(of: number) else { return self.takeActions() }
        var result: Fetching.Written?
        if self.isFetching, case .fetching(var fetching) = self.takePhase() {
            result = fetching.wrote(count, by: number)
            self.phase = .fetching(fetching)
        }
        guard let written = result else {
            self.pieceDone(index, now)
            return self.takeActions()
        }
        if written.wantsCheckpoint { self.emit(.checkpoint) }
        if arrived > count {
            // Bytes were discarded: the response cannot be continued, even if the piece was extended since.
            self.pieceDone(index, now)
        } else if written.isDone {
            // If the response ends with the piece, the machine waits for its end, so that the connection can be kept.
            let request = self.requests[index]
            let responseEnd = request.responseEnd ?? request.range?.upperBound ?? written.length
            if responseEnd != written.end { self.pieceDone(index, now) }
        }
        return self.takeActions()
    }

    /// Pauses reading for the disk, a receiver or the rate limit.
    package mutating func paused(_ number: DownloadAction.RequestNumber) {
        guard let index = self.index(of: number) else { return }
        self.requests[index].isPaused = true
        self.speed.restart()
    }

    /// Reading continues.
    ///
    /// - Returns: Whether the request is still part of the run.
    package mutating func resumed(_ number: DownloadAction.RequestNumber, _ now: Int64) -> Bool {
        guard let index = self.index(of: number) else { return false }
        self.resumeReading(index, now)
        return true
    }

    // MARK: Comparing

    private mutating func compareNext(_ arrived: Int, _ index: Int) -> ByteDestination {
        let request = self.requests[index]
        let count = min(request.overlap - request.compared, Int64(arrived))
        self.received += count
        let completed = self.fetching?.planner.completed ?? 0
        return .compare(
            count: Int(count),
            index: Int(request.compared),
            offset: completed - request.overlap + request.compared
        )
    }

    /// Bytes of the overlap were compared with the held ones.
    ///
    /// The bytes after the overlap are delivered again by `bytesReceived` if `reading` allows.
    package mutating func compared(
        _ count: Int,
        agree: Bool,
        _ number: DownloadAction.RequestNumber,
        _ now: Int64
    ) -> [DownloadAction] {
        guard let index = self.index(of: number) else { return [] }
        if !agree {
            self.foundDifference(index, now)
            return self.takeActions()
        }
        self.requests[index].compared += Int64(count)
        if self.requests[index].compared == self.requests[index].overlap { self.overlapAgrees(index, now) }
        return self.takeActions()
    }

    /// Bytes that a response repeats, and that would be skipped, differ from the held ones.
    package mutating func repetitionDiffers(
        _ number: DownloadAction.RequestNumber,
        _ now: Int64
    ) -> [DownloadAction] {
        guard let index = self.index(of: number) else { return [] }
        self.foundDifference(index, now)
        return self.takeActions()
    }

    /// Handles a difference: it is recorded, durably, before another response is requested.
    private mutating func foundDifference(_ index: Int, _ now: Int64) {
        let reason = "the received bytes differ from the server's"
        guard case .fetching(let fetching) = self.phase, var facts = fetching.facts?.value else {
            return self.restart(index, reason, now)
        }
        facts.recordDifference(from: self.terms.sources[self.requests[index].source].withoutUserInfo)
        let boxed = Boxed(facts)
        self.fetching?.facts = boxed
        if fetching.isStream {
            self.history.stream.facts = boxed
        } else {
            self.fetching?.recorded = boxed
            self.emit(.recordDifference(facts))
            self.emit(.checkpoint)
        }
        self.restart(index, reason, now)
    }

    /// The journal could not be changed: the next run would continue bytes that are known to differ, so they are given up.
    ///
    /// If the run has ended with the difference, its driver must not keep the file: see ``endingOfWrongBytes``.
    package mutating func differenceNotRecorded(_ error: StorageError) -> [DownloadAction] {
        self.holdsWrongBytes = true
        return self.failed(TransferFailure(error))
    }

    /// Handles a matching overlap: the bytes after it continue the file.
    private mutating func overlapAgrees(_ index: Int, _ now: Int64) {
        self.requests[index].stage = .receiving
        if case .fetching(let fetching) = self.phase, case .existing(let existing) = fetching.held,
            let facts = self.requests[index].facts
        {
            if facts.length == existing.size {
                // With a digest it would have been skipped before.
                if self.terms.expected.isEmpty { return self.skip(size: existing.size, now) }
                return self.restart(index, "its digest differs from the expected one", now)
            }
            self.requests[index].isPaused = true
            var copied = facts.value
            copied.consistency = .overlap
            copied.continued = existing.identity
            return self.emit(.copyExisting(self.name.target, unchangedSince: existing.file, copied))
        }
        guard self.acceptRange(index, now) else {
            let failure = TransferFailure(.fileIO, "the part does not match the file", isRetryable: true)
            return self.fail(index, failure, now)
        }
        self.openConnections(lane: self.requests[index].lane, now)
    }

    /// Whether a copy of the existing file that was just made is still needed.
    package var wantsCopy: Bool {
        guard case .fetching(let fetching) = self.phase, case .existing = fetching.held else { return false }
        return !self.requests.isEmpty
    }

    /// The user's file, which keeps its name, was copied to a partial file; the copy is continued.
    package mutating func existingCopied(_ facts: ResourceFacts, _ now: Int64) -> [DownloadAction] {
        guard self.wantsCopy, let request = self.requests.first else { return [] }
        self.fetching?.held = .partial
        self.fetching?.recorded = Boxed(facts)
        self.publishTarget()
        guard self.acceptRange(0, now) else {
            let failure = TransferFailure(.fileIO, "the part does not match the file", isRetryable: true)
            self.fail(0, failure, now)
            return self.takeActions()
        }
        self.emit(.deliverLeftover(request.number))
        return self.takeActions()
    }

    // MARK: The end of a response

    /// The response is complete by its framing.
    package mutating func responseEnded(
        _ number: DownloadAction.RequestNumber,
        trailers: HeaderFields,
        cleanly: Bool,
        _ now: Int64
    ) -> [DownloadAction] {
        guard let index = self.index(of: number) else { return [] }
        if !trailers.isEmpty { self.takeDigests(trailers: trailers, index) }
        if !self.endDraining(index, now) { self.bodyEnded(index, cleanly: cleanly, now) }
        return self.takeActions()
    }

    private mutating func bodyEnded(_ index: Int, cleanly: Bool, _ now: Int64) {
        guard self.requests[index].isFetch, !self.requests[index].isComparing, self.requests[index].repeated == 0
        else { return self.fail(index, self.emptyResponse, now) }
        switch self.phase {
        case .small:
            let (received, length) = self.position
            guard received == length else { return self.fail(index, self.emptyResponse, now) }
            self.retire(index)
            self.commit(now)
        case .fetching(let fetching):
            if case .existing = fetching.held { return self.fail(index, self.emptyResponse, now) }
            let request = self.requests[index]
            if let piece = fetching.planner.piece(of: request.number) {
                if piece.end != Int64.max {
                    // Bytes that a whole response repeats are not progress.
                    if piece.written < piece.end, piece.written == piece.start {
                        return self.fail(index, self.emptyResponse, now)
                    }
                } else if request.isPart {
                    // The end of a part is not the end of the file. If it added no bytes, the file may end here.
                    if request.bytes == 0 { self.fetching?.probesEnd = true }
                } else {
                    // The end of the response determines the length.
                    _ = self.fetching?.planner.setLength(piece.written)
                    self.fetching?.facts?.length = piece.written
                    self.fetching?.verifiedLength = cleanly
                }
            }
            self.pieceDone(index, now)
        case .locating, .opening, .committing, .ended, .borrowed: self.fail(index, self.emptyResponse, now)
        }
    }

    private var emptyResponse: TransferFailure {
        guard self.history.ranges.isUnasked else {
            return TransferFailure(.badResponse, "the response ended without content", isRetryable: true)
        }
        return TransferFailure(
            .badResponse,
            "the server sent a part of the file (206) that was not requested, and does not send the rest",
            isRetryable: true,
            status: 206
        )
    }

    /// Handles a completed piece: requests further pieces, or commits the complete file.
    private mutating func pieceDone(_ index: Int, _ now: Int64) {
        if !self.requests[index].partExpected.isEmpty {
            return self.emit(.finishPartDigests(self.requests[index].number))
        }
        self.nextPiece(index, now)
    }

    mutating func nextPiece(_ index: Int, _ now: Int64) {
        let lane = self.requests[index].lane
        self.retire(index, keepsSlot: self.requests.count == 1)
        guard case .fetching(let fetching) = self.phase, !fetching.planner.isComplete else {
            self.releaseHeldSlot()
            if self.isFetching { self.commit(now) }
            return
        }
        self.openConnections(lane: lane, now)
        // Other transfers may use the connections of the host that this file did not take.
        self.emit(.slotsReleased(lane: lane))
        self.hasReturnedSlot = false
    }
}

extension Fetching {
    /// The effect of bytes that were written.
    struct Written: Sendable {
        /// The end of the request's piece.
        var end: Int64
        /// The length of the file.
        var length: Int64?
        /// Whether the piece is complete.
        var isDone: Bool
        var wantsCheckpoint: Bool
    }

    /// Counts written bytes; returns `nil` for a request without a piece.
    mutating func wrote(_ count: Int, by number: DownloadAction.RequestNumber) -> Written? {
        guard let end = self.planner.piece(of: number)?.end else { return nil }
        self.sinceCheckpoint += Int64(count)
        let wantsCheckpoint = self.isPartial && self.sinceCheckpoint >= Self.checkpointBytes
        if wantsCheckpoint { self.sinceCheckpoint = 0 }
        return Written(
            end: end,
            length: self.planner.length,
            isDone: self.planner.wrote(count, by: number),
            wantsCheckpoint: wantsCheckpoint
        )
    }

    private static var checkpointBytes: Int64 { 64 << 20 }
}
