internal import Synchronization
internal import TransferCore

/// Bytes on their way to the disk: the data path.
extension DownloadRun {
    private enum Sink {
        case nowhere
        case small(any SmallFile)
        case partial(any PartialFile, extent: Int, count: Int)
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
            if case .probe = attempt.purpose { return .compare }
            attempt.bytes += Int64(body.count)
            state.received += Int64(body.count)
            switch state.file {
            case .none: return nil
            case .small(let file):
                state.smallReceived += Int64(body.count)
                return .small(file)
            case .partial(let file):
                guard let extent = attempt.extent else { return nil }
                return .partial(
                    file,
                    extent: extent,
                    count: state.planner?.reserve(body.count, for: attempt.number) ?? 0
                )
            case .stream(let stream):
                let repeated = Int(min(attempt.repeated, Int64(body.count)))
                attempt.repeated -= Int64(repeated)
                let count = state.planner?.reserve(body.count - repeated, for: attempt.number) ?? 0
                return .stream(stream, repeated: repeated, count: count)
            }
        }
        guard let sink else {
            if let next = self.state.withLock({ _ in attempt.isOver ? nil : attempt.afterDrain }) {
                self.afterDrain(attempt, next)
            } else if self.state.withLock({ _ in !attempt.isOver }) {
                self.attemptFailed(
                    attempt,
                    TransferFailure(.badResponse, "bytes came that nothing was ready for", isRetryable: true)
                )
            }
            return .close
        }
        do throws(StorageError) {
            switch sink {
            case .nowhere: return .read
            case .compare: return self.compare(body, attempt)
            case .small(let file): try file.append(body)
            case .partial(let file, let extent, let count):
                let kept = UnsafeRawBufferPointer(rebasing: body[..<count])
                try file.write(kept, extent: extent)
                attempt.partDigests?.update(kept)
                if self.wrote(count, of: body.count, by: attempt, now) { return .close }
            case .stream(let stream, let repeated, let count):
                if repeated > 0, !self.isRepetition(body, repeated, of: stream, attempt) { return .close }
                if repeated == body.count { return .read }
                let new = UnsafeRawBufferPointer(rebasing: body[repeated..<repeated + count])
                switch stream {
                case .blocking(let sink):
                    self.pass(new, to: sink, from: attempt)
                    return .pause
                case .immediate(let receiver):
                    return self.hand(new, of: body.count - repeated, to: receiver, attempt)
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
    /// - Returns: Whether the attempt has all it was to fetch though the response goes on, so that it is to be closed.
    func wrote(_ count: Int, of arrived: Int, by attempt: Attempt, _ now: Int64) -> Bool {
        let (isDone, wantsCheckpoint): (Bool, Bool) = self.state.withLock { state in
            guard !attempt.isOver else { return (true, false) }
            state.sinceCheckpoint += Int64(count)
            let wantsCheckpoint = state.sinceCheckpoint >= Self.checkpointBytes
            if wantsCheckpoint { state.sinceCheckpoint = 0 }
            guard let piece = state.planner?.piece(of: attempt.number) else { return (true, wantsCheckpoint) }
            guard state.planner?.wrote(count, by: attempt.number) ?? true else { return (false, wantsCheckpoint) }
            // Where the response ends with the piece, its end is awaited, so that the connection can be kept.
            let end = attempt.range?.upperBound ?? state.planner?.length
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
        if case .probe(let probe) = attempt.purpose { return self.probeEnded(attempt, probe) }
        if case .examine = attempt.purpose { return self.attemptFailed(attempt, Self.oddEnd) }
        switch file {
        case .none: self.attemptFailed(attempt, Self.oddEnd)
        case .small(let small): self.smallEnded(attempt, small)
        case .stream where self.state.withLock({ _ in attempt.repeated > 0 }):
            self.attemptFailed(attempt, Self.oddEnd)
        case .partial, .stream:
            let isMissing = self.state.withLock { state -> Bool in
                guard let piece = state.planner?.piece(of: attempt.number) else { return false }
                guard piece.end == Int64.max else { return piece.written < piece.end }
                // The response told the length by ending.
                _ = state.planner?.setLength(piece.written)
                state.facts?.length = piece.written
                state.verifiedLength = cleanly
                return false
            }
            if isMissing, attempt.bytes == 0 { return self.attemptFailed(attempt, Self.oddEnd) }
            self.pieceDone(attempt)
        }
    }

    private static let oddEnd = TransferFailure(
        .badResponse,
        "the response ended with nothing in it",
        isRetryable: true
    )

    /// An attempt has nothing more to fetch; its connection goes to another piece, or the file is complete.
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
        // What this file did not take of its host's connections is another's.
        self.engine.pump(lane: attempt.lane)
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

    private func compare(_ body: UnsafeRawBufferPointer, _ attempt: Attempt) -> ReadDecision {
        let agrees: Bool = self.state.withLock { _ in
            guard case .probe(var probe) = attempt.purpose else { return false }
            let room = probe.expected.count - probe.compared
            let count = min(room, body.count)
            let agrees = body[..<count].elementsEqual(probe.expected[probe.compared..<probe.compared + count])
            probe.compared += count
            attempt.purpose = .probe(probe)
            return agrees
        }
        if agrees { return .read }
        if case .probe(let probe) = attempt.purpose, case .goOn = probe.then,
            attempt.source != 0, self.state.withLock({ $0.attempts.count > 1 })
        {
            self.sourceDisagrees(attempt)
            return .close
        }
        return self.startOver(attempt, "the bytes that are there are not the server's", head: nil)
    }

    func sourceDisagrees(_ attempt: Attempt) {
        self.note("\(attempt.url.redacted) has another file: it is not used")
        self.transfer.memory.withLock { _ = $0.badSources.insert(attempt.source) }
        if self.state.withLock({ $0.awaitsFirst }) {
            // It was alone: the next run asks another source.
            let failure = TransferFailure(.badResponse, "a mirror has another file", isRetryable: true)
            return self.end(.retry(failure), except: attempt)
        }
        self.state.withLock { self.retire(&$0, attempt) }
        self.fill(preferring: attempt.lane)
    }

    private func probeEnded(_ attempt: Attempt, _ probe: Attempt.Probe) {
        guard probe.compared == probe.expected.count else { return self.attemptFailed(attempt, Self.oddEnd) }
        self.transfer.memory.withLock { memory in
            memory.rangesProven = true
            _ = memory.provenSources.insert(attempt.source)
        }
        let (isAlone, target): (Bool, FileTarget) = self.state.withLock { state in
            state.serverDoesRanges = true
            let isAlone = state.attempts.count == 1
            if isAlone {
                state.heldSlot = attempt.slot
                attempt.slot = nil
            }
            self.retire(&state, attempt)
            return (isAlone, state.target)
        }
        switch probe.then {
        case .goOn:
            if isAlone { self.launchFirst(.fetch) } else { self.fill(preferring: attempt.lane) }
        case .adopt:
            let facts = ResourceFacts(
                url: self.request.sources[attempt.source].withoutUserInfo,
                finalURL: attempt.url.redacted,
                entityTag: attempt.validators.entityTag,
                lastModified: attempt.validators.lastModified,
                date: attempt.validators.date
            )
            self.line.run {
                do throws(StorageError) {
                    let adopted = try self.engine.store.adoptExisting(target, facts: facts)
                    self.transfer.memory.withLock { $0.isAdopted = true }
                    self.goOn(with: adopted)
                } catch {
                    self.end(.failed(Self.failure(error)), except: nil)
                }
            }
        }
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

    private func hold(_ attempt: Attempt, _ tickets: TransferEngine.Tickets, _ wait: Int64) {
        // A limit can change while one waits for it: long waits are looked at again.
        self.engine.time.schedule(after: min(wait, Self.longestHold)) {
            if self.state.withLock({ _ in attempt.isOver }) { return }
            let left = self.engine.wait(for: tickets, of: self.transfer, now: self.now)
            if left > 0 { self.hold(attempt, tickets, left) } else { self.letGo(attempt) }
        }
    }

    private static let longestHold: Int64 = 500_000_000
}
