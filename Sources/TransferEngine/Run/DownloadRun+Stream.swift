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
        self.launchFirst(.fetch)
    }

    /// Handles a response that begins at byte 0, for a stream or an empty partial file.
    ///
    /// - Parameters:
    ///   - attempt: Its request.
    ///   - head: Its head.
    ///   - length: The length of the whole representation, if the response declares it.
    ///   - part: The range that it carries, if not the whole.
    /// - Returns: Whether to continue reading.
    func wholeForStream(
        _ attempt: Attempt,
        _ head: ResponseHead,
        _ length: Int64?,
        part: ByteRange? = nil
    ) -> ReadDecision {
        let given = self.transfer.memory.withLock { $0.stream.count }
        if given > 0 { return self.readAgain(attempt, head, length, given) }
        let facts = self.facts(of: head, from: attempt, length: length)
        _ = self.take(facts, head, attempt, part: part)
        self.transfer.memory.withLock { memory in
            memory.stream.facts = facts
            memory.stream.serverDigests = self.state.withLock { $0.serverDigests }
        }
        self.state.withLock { state in
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
            // A receiver that keeps the bytes compares them itself.
            if case .memory(let receiver) = self.options.destination, receiver.keepsBytes { return }
            memory.stream.tail.append(bytes)
        }
    }

    /// Handles a whole response to a request for the rest of a stream.
    ///
    /// The bytes delivered before are skipped if the response is of the same version, or if the last of them match.
    private func readAgain(
        _ attempt: Attempt,
        _ head: ResponseHead,
        _ length: Int64?,
        _ given: Int64
    ) -> ReadDecision {
        let response = self.facts(of: head, from: attempt, length: length)
        let tail = self.transfer.memory.withLock { Int64($0.stream.tail.bytes.count) }
        let continuation: VersionJudge.Continuation = self.state.withLock { state in
            guard let held = state.facts else { return .refused("nothing is known of what was received before") }
            if held.isUnreliable { return .refused(Self.alternation(held)) }
            var overlap = tail
            if case .stream(.immediate(let receiver)) = state.file, receiver.keepsBytes { overlap = given }
            return VersionJudge.continuation(
                of: response,
                after: held,
                self.context(state, attempt),
                isAdditional: false,
                overlap: overlap,
                run: given
            )
        }
        var basis: Consistency?
        switch continuation {
        case .accepted(let consistency):
            if attempt.sentIfRange {
                self.transfer.memory.withLock { $0.omitsIfRange = true }
                self.relaunch(attempt)
                return .close
            }
            basis = consistency
        case .compared where attempt.sentIfRange, .needsOverlap where attempt.sentIfRange:
            self.transfer.memory.withLock { memory in
                memory.omitsIfRange = true
                memory.wantsOverlap = true
            }
            self.relaunch(attempt)
            return .close
        case .compared: break
        case .needsOverlap, .refused:
            let reason = if case .refused(let text) = continuation { text } else { "too little of it is held" }
            return self.restart(attempt, "the server does not resume: \(reason)")
        }
        self.note("the server sends no parts: passing over what was received before")
        self.transfer.memory.withLock { $0.rangesRefused = true }
        let isTaken = self.state.withLock { state in
            state.planner?.release(attempt.number)
            _ = state.planner?.assign(to: attempt.number, minimumSplit: Int64.max / 4)
            attempt.range = nil
            attempt.isTaken = true
            attempt.basis = basis
            attempt.facts = response
            attempt.responseEnd = length
            state.hasTaken = true
            attempt.overlap = basis == nil ? min(tail, given) : 0
            if case .stream(.immediate(let receiver)) = state.file, receiver.keepsBytes { attempt.overlap = 0 }
            attempt.isComparing = attempt.overlap > 0
            attempt.compared = 0
            if attempt.isComparing { attempt.expected = self.transfer.memory.withLock { $0.stream.tail.bytes } }
            attempt.repeated = given - attempt.overlap
            return attempt.isComparing || self.acceptRange(&state, attempt)
        }
        guard isTaken else {
            self.attemptFailed(attempt, TransferFailure(.fileIO, "the response does not fit what was given"))
            return .close
        }
        return .read
    }

    /// Compares repeated bytes with the receiver's, if it keeps them; otherwise their version was accepted.
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

    /// Passes bytes to a receiver that accepts them synchronously.
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

    /// Writes bytes to the sink on the pool, with reading paused.
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

/// The last bytes of a stream.
struct StreamTail: Sendable {
    private let capacity: Int
    /// Pieces in order; together they contain at least the last `capacity` bytes of the stream.
    private var pieces: [[UInt8]] = []
    private var count = 0

    init(capacity: Int) { self.capacity = capacity }

    /// Appends bytes; copies at most `capacity` of them.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        let kept = bytes.suffix(self.capacity)
        if kept.count == self.capacity {
            self.pieces.removeAll(keepingCapacity: true)
            self.count = 0
        }
        self.pieces.append(Array(kept))
        self.count += kept.count
        while let first = self.pieces.first, self.count - first.count >= self.capacity {
            self.pieces.removeFirst()
            self.count -= first.count
        }
        // Small pieces are joined to bound their number.
        if self.pieces.count > 64 { self.pieces = [Array(self.pieces.joined())] }
    }

    /// The last bytes, at most the capacity.
    var bytes: [UInt8] { Array(self.pieces.joined().suffix(self.capacity)) }
}
