internal import Synchronization
internal import TransferCore

/// Downloads into a sink that cannot take bytes back.
extension DownloadRun {
    func beginStream(_ sink: any ByteSink) {
        let position = self.transfer.memory.withLock { $0.stream }
        self.state.withLock { state in
            state.file = .stream(sink)
            state.facts = position.facts
            state.serverDigests = position.serverDigests
            state.resumedFrom = position.count
            state.phase = .active
            if position.count > 0 {
                state.planner = SegmentPlanner(length: position.facts?.length, have: [0..<position.count])
            }
        }
        if self.state.withLock({ $0.planner?.isComplete ?? false }) { return self.commit() }
        guard position.count > 0, let facts = position.facts, !self.hasStrongValidator(facts) else {
            return self.launchFirst(.fetch)
        }
        let range = position.count - Int64(position.tail.count)..<position.count
        self.launchFirst(.probe(Attempt.Probe(range: range, expected: position.tail, then: .goOn)))
    }

    func wholeForStream(_ attempt: Attempt, _ head: ResponseHead, _ length: Int64?) -> ReadDecision {
        if self.transfer.memory.withLock({ $0.stream.count > 0 }) {
            return self.startOver(attempt, "the server does not resume, or the file changed", head: head)
        }
        let facts = self.facts(of: head, from: attempt, length: length)
        let digests = Self.digests(in: head)
        self.transfer.memory.withLock { memory in
            memory.stream.facts = facts
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

    /// Hands bytes to the sink on the pool, while reading waits.
    func pass(_ bytes: UnsafeRawBufferPointer, to sink: any ByteSink, from attempt: Attempt) {
        let copy = Array(bytes)
        self.state.withLock { _ in attempt.isHeld = true }
        self.operate {
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
            self.transfer.memory.withLock { memory in
                memory.stream.count += Int64(copy.count)
                memory.stream.tail = Array((memory.stream.tail + copy).suffix(Int(Self.overlap)))
            }
            let isDone: Bool? = self.state.withLock { state in
                guard !attempt.isOver else { return nil }
                return state.planner?.wrote(copy.count, by: attempt.number)
            }
            guard let isDone else { return }
            if isDone {
                self.engine.transport.execute(onLane: attempt.lane) {
                    self.state.withLock { _ in attempt.exchange }?.cancel()
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
