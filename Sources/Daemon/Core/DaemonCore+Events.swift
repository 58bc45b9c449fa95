internal import Control
internal import Logging
internal import Martlet
internal import QueueStore
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// What the engines tell, and how it is stored.
extension DaemonCore {
    /// Takes what lies in the outbox; gives how much it was.
    @discardableResult
    func drain() -> Int {
        var touched: Set<String?> = []
        var heard = 0
        while true {
            let items = self.outbox.take()
            guard !items.isEmpty else { break }
            heard += items.count
            for item in items {
                switch item {
                case .engine(let session, let event):
                    touched.insert(session)
                    if let lane = self.lanes[session] { self.heard(lane, event) }
                case .committed(let batch, let result):
                    self.isWriting = false
                    for item in batch.items { touched.insert(item.session) }
                    self.written(batch, result)
                }
            }
        }
        self.flush()
        for session in touched { if let lane = self.lanes[session] { self.refill(lane) } }
        self.publish()
        return heard
    }

    private func heard(_ lane: Lane, _ event: TransferEvent) {
        guard let tag = event.userInfo as? RunTag, let entry = lane.queue.entries[tag.id], entry.run == tag.run else {
            return
        }
        switch event.kind {
        case .started(let path):
            if !path.isEmpty { lane.live[tag.id]?.path = path }
            guard lane.queue.started(tag.id, run: tag.run) else { return }
            if self.isHeard { self.tell(.started(self.record(lane, entry, .active))) }
            self.pass(lane.session, tag.id, ["kind": "started", "id": .string(tag.id.description)])
        case .response(let info): self.answered(lane, entry, event, info)
        case .progress(let progress):
            lane.live[tag.id]?.bytes = progress.bytes
            lane.live[tag.id]?.total = progress.total
            lane.live[tag.id]?.rate = progress.rate.isFinite ? Int64(min(progress.rate, 1e15)) : 0
            lane.live[tag.id]?.connections = progress.connections
            lane.live[tag.id]?.acknowledged = progress.acknowledged
            lane.live[tag.id]?.sent = progress.sent
        case .finished(let completion):
            self.snapshot.withLock { $0.receivedBytes += completion.received }
            if !completion.path.isEmpty { lane.live[tag.id]?.path = completion.path }
            self.ended(lane, tag.id, run: tag.run, completion: completion, answer: tag.answer?.bytes)
        case .failed(let failure):
            if let path = event.target?.path { lane.live[tag.id]?.path = path }
            self.ended(
                lane,
                tag.id,
                run: tag.run,
                failure: TransferRecord.Failure(
                    failure.code,
                    failure.message,
                    remedy: failure.remedy(naming: Self.option),
                    status: failure.status
                )
            )
        case .cancelled:
            if let path = event.target?.path { lane.live[tag.id]?.path = path }
            if let failure = lane.live[tag.id]?.failure {
                return self.ended(lane, tag.id, run: tag.run, failure: failure)
            }
            guard let entry = lane.queue.cancelled(tag.id, run: tag.run) else { return }
            self.gaveBack(lane, entry)
        case .retrying: lane.live[tag.id]?.rate = 0
        case .paused, .note, .drained, .missed: break
        }
    }

    /// The option that a failure's setting is, for its remedy.
    private static func option(_ setting: TransferFailure.Setting) -> String {
        switch setting {
        case .existingFiles: "set 'if-exists'"
        case .resourceTimeout: "set a longer 'resource-timeout'"
        case .connectTimeout: "set a longer 'connect-timeout'"
        case .trust: "trust the server's authority"
        case .credentials: "set 'http-user' and 'http-passwd'"
        case .concurrency: "lower 'max-concurrent-downloads'"
        }
    }

    /// An engine has given a transfer back: what the store has of it says what becomes of it.
    private func gaveBack(_ lane: Lane, _ entry: LaneQueue.Entry) {
        let id = entry.transfer.id
        let live = lane.live[id]
        lane.left(id)
        // One that is cut off by the daemon's end was not asked for again by anybody.
        if !entry.transfer.mayBeCut, !self.isStopping { self.parts.notes.clear(id) }
        if entry.hasStarted, let live, live.bytes > 0 {
            // What a paused one has is shown from the store.
            let progress = (id: id, bytes: live.bytes, total: live.total, path: live.path)
            Task {
                try? await self.write { (writer) throws(QueueStoreError) in try writer.setProgress([progress]) }
                self.wake(id)
            }
        } else {
            self.wake(id)
        }
        // It has a place before those that were taken meanwhile.
        if entry.comesBack, entry.hasStarted { self.reorder(lane) }
        if entry.comesBack {
            self.pass(lane.session, id, ["kind": "waiting", "id": .string(id.description)])
        }
    }

    private func answered(
        _ lane: Lane,
        _ entry: LaneQueue.Entry,
        _ event: TransferEvent,
        _ info: TransferEvent.ResponseInfo
    ) {
        let id = entry.transfer.id
        if !info.path.isEmpty { lane.live[id]?.path = info.path }
        if let expected = info.expected { lane.live[id]?.total = expected }
        guard lane.session != nil, lane.live[id]?.hasResponse == false else { return }
        lane.live[id]?.hasResponse = true
        let response: [JSON.Member] = [
            .init("status", .integer(Int64(info.status))), .init("url", .string(event.url)),
            .init("fields", .array(info.fields.pairs.map { [.string($0.name), .string($0.value)] })),
        ]
        if entry.transfer.upload != nil { lane.live[id]?.response = .object(response) }
        let json = JSON.object(
            [.init("kind", "response"), .init("id", .string(id.description))] + response
                + [.init("total", .optional(info.expected))]
        )
        self.pending.items.append(
            .init(session: lane.session, id: id, run: entry.run, event: json, before: entry.transfer)
        )
    }

    // MARK: Ends

    /// A transfer has ended by itself: that is told once it is stored.
    func ended(
        _ lane: Lane,
        _ id: GID,
        run: UInt64,
        completion: TransferEvent.Completion? = nil,
        answer: [UInt8]? = nil,
        failure: TransferRecord.Failure? = nil
    ) {
        guard let entry = lane.queue.ended(id, run: run) else { return }
        guard entry.transfer.state != .removed else {
            // Whoever removed it has stored its end.
            lane.queue.committed(id, run: run)
            lane.left(id)
            return self.wake(id)
        }
        let live = lane.live[id]
        let end = StoredEnd(
            id: id,
            state: completion == nil ? .failed : .finished,
            path: live?.path ?? entry.transfer.path,
            bytes: completion?.bytes ?? live?.bytes ?? entry.transfer.bytes,
            total: completion?.bytes ?? live?.total ?? entry.transfer.total,
            failure: failure,
            at: self.now
        )
        var event: JSON?
        if lane.session != nil {
            if let completion {
                event = Self.finished(id, completion, answer, live?.response)
            } else {
                event = [
                    "kind": "failed", "id": .string(id.description), "error": failure?.json ?? .null,
                    "path": .optional(end.path),
                ]
            }
        }
        self.pending.items.append(
            .init(session: lane.session, id: id, run: run, end: end, event: event, before: entry.transfer)
        )
    }

    /// What a session hears of a good end; of an upload with the server's answer.
    private static func finished(
        _ id: GID,
        _ completion: TransferEvent.Completion,
        _ answer: [UInt8]?,
        _ response: JSON?
    ) -> JSON {
        var members: [JSON.Member] = [
            .init("kind", "finished"), .init("id", .string(id.description)), .init("path", .string(completion.path)),
            .init("bytes", .integer(completion.bytes)), .init("received", .integer(completion.received)),
        ]
        if let answer {
            members.append(.init("sent", .optional(completion.sent)))
            members.append(.init("response", response ?? .null))
            members.append(.init("body", .string(Base64.encode(answer))))
        } else {
            members.append(.init("skipped", .bool(completion.skipped)))
            members.append(.init("notModified", .bool(completion.notModified)))
        }
        return .object(members)
    }

    /// Writes what is to be written, one group at a time: what comes meanwhile is the next.
    func flush() {
        guard !self.isWriting, !self.pending.items.isEmpty else { return }
        var batch = self.pending
        self.pending = EndBatch()
        for index in batch.items.indices where batch.items[index].event != nil {
            // A session that was forgotten is not made again by what comes after.
            guard let session = batch.items[index].session, self.sessions[session] == nil else { continue }
            batch.items[index].event = nil
        }
        let written = batch
        self.isWriting = true
        self.store.writeLater(
            { (writer) throws(QueueStoreError) in try written.write(writer) },
            done: { [outbox = self.outbox] in outbox.put(.committed(written, $0)) }
        )
    }

    private func written(_ batch: EndBatch, _ result: Result<[EndBatch.Outcome], QueueStoreError>) {
        switch result {
        case .success(let outcomes):
            self.roomIsThere()
            for (item, outcome) in zip(batch.items, outcomes) { self.settle(item, outcome) }
        case .failure(let error):
            switch error.code {
            case .full: self.isOutOfRoom()
            case .closed: return
            default:
                self.configuration.logger.error("ends cannot be stored: \(error.message)")
            }
            self.pending.items = batch.items + self.pending.items
            // Until then nothing else is written.
            self.isWriting = true
            let pause = self.configuration.fullRetry
            Task {
                try? await Task.sleep(for: .seconds(pause))
                self.isWriting = false
                self.flush()
            }
        }
    }

    private func settle(_ item: EndBatch.Item, _ outcome: EndBatch.Outcome) {
        if let session = item.session, outcome.number > 0 { self.stored(session, outcome.number) }
        guard let end = item.end else { return }
        let lane = self.lanes[item.session]
        let before = lane?.queue.entries[item.id]?.transfer ?? item.before
        // Where it was paused or removed meanwhile, only the store knows which came first.
        if let state = outcome.before { self.book.move(1, item.session, from: state, to: end.state) }
        // Before anybody hears of the end: it is stored, and no request can be made twice any more.
        if !before.mayBeCut { self.parts.notes.clear(item.id) }
        if outcome.before != nil, self.isHeard {
            let record = TransferRecord(before, end: end)
            self.tell(end.state == .finished ? .finished(record) : .failed(record))
        }
        lane?.queue.committed(item.id, run: item.run)
        lane?.left(item.id)
        self.wake(item.id)
    }

    // MARK: A full disk

    private func isOutOfRoom() {
        guard !self.isFull else { return }
        self.isFull = true
        self.snapshot.withLock { $0.trouble = "the disk under the queue is full" }
        self.configuration.logger.error("the disk under the queue is full; the queue is held until there is room")
        for lane in self.lanes.values {
            for entry in lane.queue.hold(.diskFull, cutsRunning: false) { lane.giveBack(entry.transfer.id) }
        }
    }

    func roomIsThere() {
        guard self.isFull else { return }
        self.isFull = false
        self.snapshot.withLock { $0.trouble = nil }
        self.configuration.logger.notice("there is room under the queue again")
        for lane in self.lanes.values { lane.queue.release(.diskFull) }
        for lane in self.lanes.values { self.refill(lane) }
    }

    // MARK: Waiting for an engine

    /// Returns when none of these is in an engine's hands any more.
    func waitUntilLeft(_ ids: [GID], _ session: String?) async {
        for id in ids {
            guard let phase = self.lanes[session]?.queue.entries[id]?.phase, phase == .stopping else { continue }
            await withCheckedContinuation { self.leaveWaiters[id, default: []].append($0) }
        }
    }

    private func wake(_ id: GID) {
        for waiter in self.leaveWaiters.removeValue(forKey: id) ?? [] { waiter.resume() }
    }
}
