internal import Synchronization
internal import TransferCore

/// Downloads into a sink that cannot take bytes back.
extension DownloadRun {
    func beginStream(_ sink: StreamSink) {
        let position = self.transfer.memory.withLock { $0.stream }
        let isOver = self.state.withLock { state in
            guard state.phase != .ending else { return true }
            state.file = .stream(sink)
            state.facts = position.facts
            state.serverDigests = position.serverDigests
            state.resumedFrom = position.count
            state.phase = .active
            if position.count > 0 {
                state.planner = SegmentPlanner(length: position.facts?.length, have: [0..<position.count])
            }
            return false
        }
        if isOver { return }
        if self.state.withLock({ $0.planner?.isComplete ?? false }) { return self.commit() }
        guard position.count > 0, let facts = position.facts, !self.hasStrongValidator(facts),
            self.transfer.asksForWhole
        else {
            return self.launchFirst(.fetch)
        }
        let range = position.count - Int64(position.tail.count)..<position.count
        self.launchFirst(.probe(Attempt.Probe(range: range, expected: position.tail, then: .goOn)))
    }

    func wholeForStream(_ attempt: Attempt, _ head: ResponseHead, _ length: Int64?) -> ReadDecision {
        let given = self.transfer.memory.withLock { $0.stream.count }
        if given > 0 {
            guard self.mayReadAgain(head, length) else {
                return self.startOver(attempt, "the server does not resume, or the file changed", head: head)
            }
            self.note("the server sends no parts: what was there before is read again")
            self.transfer.memory.withLock { $0.rangesRefused = true }
            self.state.withLock { _ in attempt.repeated = given }
            return .read
        }
        let facts = self.facts(of: head, from: attempt, length: length)
        let digests = Self.digests(in: head)
        let keepsTail = !self.hasStrongValidator(facts)
        self.transfer.memory.withLock { memory in
            memory.stream.facts = facts
            memory.stream.keepsTail = keepsTail
            memory.stream.serverDigests = digests
        }
        self.state.withLock { state in
            state.facts = facts
            state.serverDigests = digests
            state.verifiedLength = head.framing != .untilClose
            var planner = SegmentPlanner(length: length)
            _ = planner.assign(to: attempt.number, minimumSplit: Int64.max / 4)
            state.planner = planner
        }
        self.beginStreamDigests()
        self.report(head, length)
        if length == 0 {
            self.state.withLock { self.retire(&$0, attempt) }
            self.commit()
            return .close
        }
        return .read
    }

    private func advanceStream(by bytes: UnsafeRawBufferPointer) {
        self.transfer.memory.withLock { memory in
            memory.stream.count += Int64(bytes.count)
            guard memory.stream.keepsTail else { return }
            memory.stream.tail = Array((memory.stream.tail + bytes.suffix(Int(Self.overlap))).suffix(Int(Self.overlap)))
        }
    }

    /// Whether a whole can stand for the part that was asked for: what was given before comes again, and is passed over.
    ///
    /// A strong validator vouches for it, or a receiver that still has the bytes.
    private func mayReadAgain(_ head: ResponseHead, _ length: Int64?) -> Bool {
        guard let facts = self.state.withLock({ $0.facts }), facts.length == length else { return false }
        if case .stream(.immediate(let receiver)) = self.state.withLock({ $0.file }), receiver.keepsBytes {
            return true
        }
        return self.hasStrongValidator(facts)
            && ResponseJudge.agreement(head, with: facts, ignoringTags: false) == .same
    }

    /// A whole came instead of the last bytes that were asked for to compare: it is compared from its beginning.
    ///
    /// - Returns: What to answer, or `nil` where it cannot be.
    func compareWholeStream(_ attempt: Attempt, _ head: ResponseHead, _ length: Int64?) -> ReadDecision? {
        guard case .stream = self.state.withLock({ $0.file }), self.mayReadAgain(head, length) else { return nil }
        self.state.withLock { state in
            attempt.purpose = .fetch
            self.assignPiece(&state, attempt)
        }
        return self.wholeForStream(attempt, head, length)
    }

    /// Compares bytes that come again, where the receiver has them; otherwise the validator vouches for them.
    func isRepetition(
        _ body: UnsafeRawBufferPointer,
        _ count: Int,
        of stream: StreamSink,
        _ attempt: Attempt
    ) -> Bool {
        guard case .immediate(let receiver) = stream, receiver.keepsBytes else { return true }
        let given = self.transfer.memory.withLock { $0.stream.count }
        let offset = given - self.state.withLock { _ in attempt.repeated } - Int64(count)
        if receiver.holds(UnsafeRawBufferPointer(rebasing: body[..<count]), at: offset) { return true }
        self.end(
            .failed(TransferFailure(.cannotResume, "the file changed on the server while it was being read")),
            except: attempt
        )
        return false
    }

    /// Hands bytes to a receiver that takes them at once.
    func hand(
        _ bytes: UnsafeRawBufferPointer,
        of arrived: Int,
        to receiver: any BodyReceiver,
        _ attempt: Attempt
    ) -> ReadDecision {
        let mayGoOn: Bool
        do throws(TransferFailure) {
            mayGoOn = try receiver.receive(bytes) { self.letGo(attempt) }
        } catch {
            self.end(.failed(error), except: attempt)
            return .close
        }
        self.transfer.memory.withLock { $0.stream.digests }?.update(bytes)
        attempt.partDigests?.update(bytes)
        self.advanceStream(by: bytes)
        if self.wrote(bytes.count, of: arrived, by: attempt, self.now) { return .close }
        if !mayGoOn {
            self.state.withLock { _ in attempt.isHeld = true }
            return .pause
        }
        return self.engine.isThrottling ? self.throttle(attempt, bytes.count, self.now) : .read
    }

    /// Hands bytes to the sink on the pool, while reading waits.
    func pass(_ bytes: UnsafeRawBufferPointer, to sink: any ByteSink, from attempt: Attempt) {
        let copy = Array(bytes)
        self.state.withLock { _ in attempt.isHeld = true }
        self.line.run {
            do throws(StorageError) {
                try sink.write(copy)
            } catch {
                return self.end(.failed(Self.failure(error)), except: nil)
            }
            let (whole, part) = (self.transfer.memory.withLock { $0.stream.digests }, attempt.partDigests)
            copy.withUnsafeBytes { bytes in
                whole?.update(bytes)
                part?.update(bytes)
            }
            copy.withUnsafeBytes { self.advanceStream(by: $0) }
            let isDone: Bool? = self.state.withLock { state in
                guard !attempt.isOver else { return nil }
                return state.planner?.wrote(copy.count, by: attempt.number)
            }
            guard let isDone else { return }
            if isDone {
                self.engine.transport.execute(onLane: attempt.lane) {
                    let exchange = self.state.withLock { _ in
                        defer { attempt.exchange = nil }
                        return attempt.exchange
                    }
                    exchange?.cancel()
                    self.pieceDone(attempt)
                }
            } else if self.engine.isThrottling,
                case .pause = self.throttle(attempt, copy.count, self.now)
            {
                return
            } else {
                self.letGo(attempt)
            }
        }
    }
}
