internal import Synchronization
public import TransferCore

/// Pausing, resuming and cancelling.
extension TransferEngine {
    /// Pauses a transfer that waits, runs or is between attempts; it keeps what it has.
    ///
    /// Otherwise nothing happens.
    public func pause(_ id: TransferID) {
        let run = self.state.withLock { state -> (any TransferRun)? in
            if let run = state.running[id] {
                if state.wishes[id]?.isCancellation != true { state.wishes[id] = .pause }
                return run
            }
            guard let transfer = state.transfers[id] else { return nil }
            switch transfer.state {
            case .waiting: _ = state.scheduler.remove(id)
            case .retrying: self.stopRetrying(&state, transfer)
            case .running, .paused, .finished, .failed, .cancelled: return nil
            }
            transfer.move(to: .paused)
            state.counts.paused += 1
            self.hub.post(transfer.event(.paused))
            return nil
        }
        run?.interrupt(.paused)
        self.settle()
    }

    /// Puts a paused transfer in line again, also one whose pausing is under way.
    public func resume(_ id: TransferID) {
        self.state.withLock { state in
            if case .pause = state.wishes[id] { state.wishes[id] = .goOn }
            guard let transfer = state.transfers[id], case .paused = transfer.state else { return }
            state.counts.paused -= 1
            self.enqueue(&state, transfer, atFront: false)
        }
        self.pump(lane: nil)
    }

    /// Cancels a transfer in any state that is not an end.
    ///
    /// - Parameters:
    ///   - id: The transfer.
    ///   - keeping: Whether its partial file stays, for another transfer to go on from; otherwise it is deleted.
    public func cancel(_ id: TransferID, keeping: Bool = false) {
        var left: FileTarget?
        var upload: Transfer?
        let run = self.state.withLock { state -> (any TransferRun)? in
            if let run = state.running[id] {
                state.wishes[id] = .cancel(keeping: keeping)
                return run
            }
            guard let transfer = state.transfers[id] else { return nil }
            switch transfer.state {
            case .waiting: _ = state.scheduler.remove(id)
            case .retrying: self.stopRetrying(&state, transfer)
            case .paused: state.counts.paused -= 1
            case .running, .finished, .failed, .cancelled: return nil
            }
            left = transfer.deletable
            upload = transfer
            self.endTransfer(&state, transfer, .cancelled, .cancelled)
            return nil
        }
        upload?.letGoOfSource()
        if let upload, !keeping { self.terminate(upload) }
        if let left, !keeping { self.pool.run { try? self.store.discardPartial(left) } }
        run?.interrupt(.cancelled(keeping: keeping))
        self.settle()
    }

    /// What was asked of a transfer while it ran; a run that is ending already cannot heed it any more.
    enum Wish {
        case pause
        case goOn
        case cancel(keeping: Bool)

        var isCancellation: Bool { if case .cancel = self { true } else { false } }

        /// How a run that ends so counts for the transfer.
        func applied(to outcome: RunOutcome) -> RunOutcome {
            switch (outcome, self) {
            case (.finished, _), (.failed, _), (.cancelled, _): outcome
            case (_, .cancel(let keeping)): .cancelled(keeping: keeping)
            case (.retry, .pause), (.stopped, .pause): .paused
            case (.paused, .goOn): .stopped
            case (.paused, .pause), (.retry, .goOn), (.stopped, .goOn): outcome
            }
        }
    }

    /// Pauses every transfer that waits, runs or is between attempts.
    public func pauseAll() {
        for id in self.runningLast { self.pause(id) }
    }

    /// Puts every paused transfer in line again, in the order of adding.
    public func resumeAll() {
        for id in self.liveTransfers { self.resume(id) }
    }

    /// Cancels every transfer that has not ended.
    public func cancelAll() {
        for id in self.runningLast { self.cancel(id) }
    }

    private var liveTransfers: [TransferID] {
        self.state.withLock { $0.transfers.keys.sorted() }
    }

    /// Those that wait come first, so that none of them starts when a running one makes room.
    private var runningLast: [TransferID] {
        self.state.withLock { state in
            let ids = state.transfers.keys.sorted()
            return ids.filter { state.running[$0] == nil } + ids.filter { state.running[$0] != nil }
        }
    }

    private func stopRetrying(_ state: inout State, _ transfer: Transfer) {
        state.counts.retrying -= 1
        if case .retrying(let due) = transfer.state {
            // Others of its host may wait for the same moment, and its own timer would have started them.
            self.time.schedule(after: max(0, due - self.time.now)) { [weak self] in self?.pump(lane: nil) }
        }
        transfer.memory.withLock { memory in
            memory.wakeUp?.cancel()
            memory.wakeUp = nil
        }
    }

    func enqueue(_ state: inout State, _ transfer: Transfer, atFront: Bool) {
        transfer.move(to: .waiting)
        let priority = transfer.memory.withLock { $0.priority }
        state.scheduler.enqueue(transfer.id, origin: transfer.origin, priority: priority, atFront: atFront)
    }

    /// A transfer has its end.
    func endTransfer(_ state: inout State, _ transfer: Transfer, _ end: TransferState, _ event: TransferEvent.Kind) {
        transfer.move(to: end)
        state.transfers[transfer.id] = nil
        switch event {
        case .finished(let completion):
            if completion.skipped { state.counts.skipped += 1 } else { state.counts.finished += 1 }
        case .failed: state.counts.failed += 1
        default: state.counts.cancelled += 1
        }
        var told = transfer.event(event)
        told.target = transfer.memory.withLock { $0.target }
        if self.releasesNames, case .download = transfer.work {
            state.names.release(transfer.reserved.path)
            if let target = told.target { state.names.release(target.path) }
        }
        self.hub.post(told)
        if self.isIdle(state), state.isStarted {
            self.hub.post(TransferEvent(id: nil, url: "", userInfo: nil, kind: .drained))
        }
    }

    func isIdle(_ state: State) -> Bool {
        state.transfers.isEmpty && state.running.isEmpty
    }

    /// Whether the queue is closed and has nothing left to do.
    func isDrained(_ state: State) -> Bool { state.isClosed && self.isIdle(state) && state.terminations == 0 }

    // MARK: Names

    static func takeName(_ state: inout State, directory: String, base: String) -> FileTarget {
        let target = FileTarget(directory: directory, name: base)
        if state.names.take(target.path) { return target }
        return self.takeNumber(&state, directory: directory, base: base)
    }

    private static func takeNumber(_ state: inout State, directory: String, base: String) -> FileTarget {
        let plain = FileTarget(directory: directory, name: base)
        while true {
            let number = state.names.number(for: plain.path)
            let target = FileTarget(directory: directory, name: FileName.numbered(base, number))
            if state.names.take(target.path) { return target }
        }
    }

    func takeName(directory: String, base: String) -> FileTarget {
        self.state.withLock { Self.takeName(&$0, directory: directory, base: base) }
    }

    func takeNextName(directory: String, base: String) -> FileTarget {
        self.state.withLock { Self.takeNumber(&$0, directory: directory, base: base) }
    }

    /// The directory and the name that a request asks for.
    static func place(_ request: DownloadRequest) throws(EngineError) -> (directory: String, name: String?) {
        let directory = request.directory ?? request.options.directory
        guard let given = request.name else { return (directory, nil) }
        let parts = given.split(separator: "/", omittingEmptySubsequences: true)
        guard let last = parts.last, last != ".", last != "..", !given.hasSuffix("/") else {
            throw EngineError(.badName, "'\(given)' is no file name; give one that ends in a name")
        }
        guard last.utf8.count <= FileName.longest, !given.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw EngineError(
                .badName,
                "'\(last.prefix(40))…' is no usable file name: at most \(FileName.longest) bytes, no control characters"
            )
        }
        let folders = given.dropLast(last.utf8.count)
        if folders.isEmpty { return (directory, String(last)) }
        let path = folders.hasSuffix("/") && folders.count > 1 ? String(folders.dropLast()) : String(folders)
        if path.hasPrefix("/") || directory == "." || directory.isEmpty { return (path, String(last)) }
        return (FileTarget(directory: directory, name: path).path, String(last))
    }
}
