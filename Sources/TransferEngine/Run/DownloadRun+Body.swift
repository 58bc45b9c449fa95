internal import Synchronization
internal import TransferCore

/// The data path from the connection to the disk or the stream.
extension DownloadRun {
    private enum Sink {
        case nowhere
        case small(any SmallFile)
        case partial(any PartialFile, extent: Int, repeated: Int, count: Int)
        case stream(StreamSink, repeated: Int, count: Int)
        case compare
    }

    func received(_ body: UnsafeRawBufferPointer, on attempt: Attempt) -> ReadDecision {
        let now = self.now
        let sink: Sink? = self.state.withLock { state in
            guard !attempt.isOver else { return nil }
            attempt.lastActivity = now
            if attempt.afterDrain != nil {
                attempt.drained += body.count
                if attempt.failedHead != nil {
                    attempt.prefix += body.prefix(FailedResponse.prefixLimit - attempt.prefix.count)
                }
                return attempt.drained > attempt.drainLimit ? nil : .nowhere
            }
            let repeated = Int(min(attempt.repeated, Int64(body.count)))
            if attempt.isComparing, repeated == 0 { return .compare }
            attempt.bytes += Int64(body.count)
            state.received += Int64(body.count)
            switch state.file {
            case .none, .existing: return nil
            case .small(let file):
                state.smallReceived += Int64(body.count)
                return .small(file)
            case .partial(let file):
                guard let extent = attempt.extent else { return nil }
                attempt.repeated -= Int64(repeated)
                var count = state.planner?.reserve(body.count - repeated, for: attempt.number) ?? 0
                if count < body.count - repeated, self.takeSilentNeighbour(&state, attempt, now) {
                    count += state.planner?.reserve(body.count - repeated - count, for: attempt.number) ?? 0
                }
                return .partial(file, extent: extent, repeated: repeated, count: count)
            case .stream(let stream):
                attempt.repeated -= Int64(repeated)
                // The bytes after the repetition may have to be compared first.
                let new = attempt.isComparing ? 0 : body.count - repeated
                let count = state.planner?.reserve(new, for: attempt.number) ?? 0
                return .stream(stream, repeated: repeated, count: count)
            }
        }
        guard let sink else {
            if let next = self.state.withLock({ _ in attempt.isOver ? nil : attempt.afterDrain }) {
                self.afterDrain(attempt, next)
            } else if self.state.withLock({ _ in !attempt.isOver }) {
                self.attemptFailed(
                    attempt,
                    TransferFailure(.badResponse, "unexpected bytes in the response body", isRetryable: true)
                )
            }
            return .close
        }
        do throws(StorageError) {
            switch sink {
            case .nowhere: return .read
            case .compare: return self.compare(body, attempt)
            case .small(let file): try file.append(body)
            case .partial(let file, let extent, let repeated, let count):
                if repeated == body.count { break }
                let kept = UnsafeRawBufferPointer(rebasing: body[repeated..<repeated + count])
                try file.write(kept, extent: extent)
                attempt.partDigests?.update(kept)
                if self.wrote(count, of: body.count - repeated, by: attempt, now) { return .close }
            case .stream(let stream, let repeated, let count):
                if repeated > 0, !self.isRepetition(body, repeated, of: stream, attempt) { return .close }
                if repeated == body.count { return .read }
                let rest = UnsafeRawBufferPointer(rebasing: body[repeated...])
                if self.state.withLock({ _ in attempt.isComparing }) { return self.compare(rest, attempt) }
                let new = UnsafeRawBufferPointer(rebasing: rest[..<count])
                switch stream {
                case .blocking(let sink):
                    self.pass(new, to: sink, from: attempt)
                    return .pause
                case .immediate(let receiver):
                    return self.hand(new, of: rest.count, to: receiver, attempt)
                }
            }
        } catch {
            self.end(.failed(Self.failure(error)), except: attempt)
            return .close
        }
        return self.engine.isThrottling ? self.throttle(attempt, body.count, now) : .read
    }

    /// Counts bytes that reached the disk.
    ///
    /// - Returns: Whether the attempt's piece is complete and its exchange is to be closed: the response continues.
    func wrote(_ count: Int, of arrived: Int, by attempt: Attempt, _ now: Int64) -> Bool {
        let (isDone, wantsCheckpoint): (Bool, Bool) = self.state.withLock { state in
            guard !attempt.isOver else { return (true, false) }
            state.sinceCheckpoint += Int64(count)
            let wantsCheckpoint = state.sinceCheckpoint >= Self.checkpointBytes
            if wantsCheckpoint { state.sinceCheckpoint = 0 }
            guard let piece = state.planner?.piece(of: attempt.number) else { return (true, wantsCheckpoint) }
            guard state.planner?.wrote(count, by: attempt.number) ?? true else { return (false, wantsCheckpoint) }
            // If the response ends with the piece, its end is awaited, so that the connection can be kept.
            let end = attempt.responseEnd ?? attempt.range?.upperBound ?? state.planner?.length
            return (arrived > count || end != piece.end, wantsCheckpoint)
        }
        if wantsCheckpoint { self.checkpoint() }
        if isDone { self.pieceDone(attempt) }
        return isDone
    }

    static let checkpointBytes: Int64 = 64 << 20

    func checkpoint() {
        self.line.run {
            guard case .partial(let file) = self.state.withLock({ $0.file }) else { return }
            do throws(StorageError) {
                try file.checkpoint()
            } catch {
                self.end(.failed(Self.failure(error)), except: nil)
            }
        }
    }

    // MARK: The end of a response

    func responseEnded(_ attempt: Attempt, cleanly: Bool) {
        let (next, file): (Attempt.Next?, RunFile) = self.state.withLock { state in
            (attempt.isOver ? nil : attempt.afterDrain, attempt.isOver ? .none : state.file)
        }
        if let next { return self.afterDrain(attempt, next) }
        if self.state.withLock({ _ in attempt.isOver }) { return }
        guard attempt.isFetch, !self.state.withLock({ _ in attempt.isComparing || attempt.repeated > 0 }) else {
            return self.attemptFailed(attempt, Self.oddEnd)
        }
        switch file {
        case .none, .existing: self.attemptFailed(attempt, Self.oddEnd)
        case .small(let small): self.smallEnded(attempt, small)
        case .partial, .stream:
            let isUseless = self.state.withLock { state -> Bool in
                guard let piece = state.planner?.piece(of: attempt.number) else { return false }
                if piece.end != Int64.max { return piece.written < piece.end && attempt.bytes == 0 }
                if attempt.isPart {
                    // The end of a part is not the end of the file. If it added no bytes, the file may end here.
                    if attempt.bytes == 0 { state.probesEnd = true }
                    return false
                }
                // The end of the response determines the length.
                _ = state.planner?.setLength(piece.written)
                state.facts?.length = piece.written
                state.verifiedLength = cleanly
                return false
            }
            if isUseless { return self.attemptFailed(attempt, Self.oddEnd) }
            self.pieceDone(attempt)
        }
    }

    private static let oddEnd = TransferFailure(
        .badResponse,
        "the response ended with nothing in it",
        isRetryable: true
    )

    /// Handles a completed piece: requests further pieces, or commits the complete file.
    func pieceDone(_ attempt: Attempt) {
        if let failure = self.partFailure(attempt) {
            self.state.withLock { $0.holdsWrongBytes = true }
            return self.end(.failed(failure), except: attempt)
        }
        let isComplete: Bool? = self.state.withLock { state in
            guard !attempt.isOver else { return nil }
            self.retire(&state, attempt)
            guard state.phase == .active else { return nil }
            return state.planner?.isComplete
        }
        guard let isComplete else { return }
        if isComplete { return self.commit() }
        self.fill(preferring: attempt.lane)
        // Connections of the host that this file did not take are available to other transfers.
        self.engine.connectionsReleased(lane: attempt.lane)
    }

    private func smallEnded(_ attempt: Attempt, _ small: any SmallFile) {
        let isWhole = self.state.withLock { state in
            guard state.smallReceived == state.smallLength else { return false }
            self.retire(&state, attempt)
            return state.phase == .active
        }
        guard isWhole else { return self.attemptFailed(attempt, Self.oddEnd) }
        self.commitSmall(small)
    }

    // MARK: Comparing

    /// Compares the overlap at the beginning of a response, then accepts the bytes after it.
    private func compare(_ body: UnsafeRawBufferPointer, _ attempt: Attempt) -> ReadDecision {
        enum Result {
            case differs
            case more
            case agrees
        }
        let count = self.state.withLock { _ in Int(min(attempt.overlap - attempt.compared, Int64(body.count))) }
        let result: Result = self.state.withLock { state in
            state.received += Int64(count)
            let bytes = UnsafeRawBufferPointer(rebasing: body[..<count])
            let offset = Int(attempt.compared)
            if case .stream(.immediate(let receiver)) = state.file, receiver.keepsBytes {
                let start = (state.planner?.completed ?? 0) - attempt.overlap
                guard receiver.holds(bytes, at: start + attempt.compared) else { return .differs }
            } else {
                guard offset + count <= attempt.expected.count,
                    attempt.expected.withUnsafeBytes({
                        UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count]).elementsEqual(bytes)
                    })
                else { return .differs }
            }
            attempt.compared += Int64(count)
            return attempt.compared < attempt.overlap ? .more : .agrees
        }
        attempt.partDigests?.update(UnsafeRawBufferPointer(rebasing: body[..<count]))
        let rest = UnsafeRawBufferPointer(rebasing: body[count...])
        switch result {
        case .differs: return self.restart(attempt, "the held bytes are not the server's")
        case .more: return .read
        case .agrees: return self.overlapAgrees(attempt, rest)
        }
    }

    /// Handles a matching overlap: the bytes after it continue the file.
    private func overlapAgrees(_ attempt: Attempt, _ rest: UnsafeRawBufferPointer) -> ReadDecision {
        enum Next {
            case takeOn
            case copy(FileTarget, ResourceFacts)
            case skip(FileTarget, Int64)
            case differs
            case fail
        }
        let next: Next = self.state.withLock { state in
            guard !attempt.isOver else { return .fail }
            attempt.isComparing = false
            attempt.expected = []
            if case .existing(let existing) = state.file, let facts = attempt.facts {
                if facts.length == existing.size {
                    // With a digest it would have been skipped before.
                    return self.request.expected.isEmpty ? .skip(state.target, existing.size) : .differs
                }
                attempt.leftover = Array(rest)
                attempt.isHeld = true
                return .copy(state.target, facts)
            }
            return self.acceptRange(&state, attempt) ? .takeOn : .fail
        }
        switch next {
        case .fail:
            self.attemptFailed(attempt, TransferFailure(.fileIO, "the part does not fit the file", isRetryable: true))
            return .close
        case .skip(let target, let size):
            // The existing file is complete.
            self.skip(target, size: size, except: attempt)
            return .close
        case .differs:
            return self.restart(attempt, "it has another digest than the expected one")
        case .copy(let target, let facts):
            self.line.run { self.copyExisting(attempt, target, facts) }
            return .pause
        case .takeOn:
            self.fill(preferring: attempt.lane)
            return rest.isEmpty ? .read : self.received(rest, on: attempt)
        }
    }

    /// Copies the user's file, which keeps its name, and continues the copy.
    private func copyExisting(_ attempt: Attempt, _ target: FileTarget, _ facts: ResourceFacts) {
        guard self.state.withLock({ $0.phase != .ending }) else { return }
        do throws(StorageError) {
            var facts = facts
            facts.consistency = .overlap
            let partial = try self.engine.store.copyExisting(target, facts: facts)
            let isLive = self.state.withLock { state in
                guard state.phase != .ending, !attempt.isOver else { return false }
                state.file = .partial(partial)
                return self.acceptRange(&state, attempt)
            }
            guard isLive else { return partial.keep() }
            self.transfer.memory.withLock { $0.target = target }
            self.engine.transport.execute(onLane: attempt.lane) {
                let leftover = self.state.withLock { _ in
                    defer { attempt.leftover = [] }
                    return attempt.leftover
                }
                let decision = leftover.isEmpty ? .read : leftover.withUnsafeBytes { self.received($0, on: attempt) }
                switch decision {
                case .read: self.letGo(attempt)
                case .pause: break
                case .close: self.close(attempt)
                }
            }
        } catch {
            self.end(.failed(Self.failure(error)), except: nil)
        }
    }

    /// Closes an attempt's exchange from outside its callbacks; called on its event loop.
    func close(_ attempt: Attempt) {
        let exchange = self.state.withLock { _ in
            defer { attempt.exchange = nil }
            return attempt.exchange
        }
        exchange?.cancel()
    }

    /// Excludes a mirror that has another file.
    func sourceDisagrees(_ attempt: Attempt) -> ReadDecision {
        self.note("\(attempt.url.redacted) has another file: it is not used")
        self.transfer.memory.withLock { _ = $0.badSources.insert(attempt.source) }
        let isAlone = self.state.withLock { $0.attempts.count == 1 }
        if isAlone {
            // The next run requests it from another source.
            self.end(
                .retry(TransferFailure(.badResponse, "a mirror has another file", isRetryable: true)),
                except: attempt
            )
        } else {
            self.dismiss(attempt, isRefusal: false)
        }
        return .close
    }

    // MARK: Rate limits

    func throttle(_ attempt: Attempt, _ count: Int, _ now: Int64) -> ReadDecision {
        let tickets = self.engine.charge(count, to: self.transfer, now: now)
        let wait = self.engine.wait(for: tickets, of: self.transfer, now: now)
        guard wait > 0 else { return .read }
        self.state.withLock { _ in attempt.isHeld = true }
        self.hold(attempt, tickets, wait)
        return .pause
    }

    private func hold(_ attempt: Attempt, _ tickets: RateTickets, _ wait: Int64) {
        // The limit can change meanwhile: long waits are split, and the remaining wait is recomputed.
        self.engine.time.schedule(after: min(wait, Self.longestHold)) {
            if self.state.withLock({ _ in attempt.isOver }) { return }
            let left = self.engine.wait(for: tickets, of: self.transfer, now: self.now)
            if left > 0 { self.hold(attempt, tickets, left) } else { self.letGo(attempt) }
        }
    }

    private static let longestHold: Int64 = 500_000_000
}
