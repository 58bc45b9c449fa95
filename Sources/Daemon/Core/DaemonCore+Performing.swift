package import Control
internal import FileStorage
internal import HTTPTransport
internal import QueueStore
internal import TransferCore
internal import TransferEngine

/// The actions: first they are stored, then the engines follow.
extension DaemonCore {
    /// Does the same to each of a selection.
    @discardableResult
    package func perform(
        _ action: TransferAction,
        on selection: TransferSelection
    ) async throws(ControlError) -> Int {
        let changed: Int
        switch selection {
        case .ids(let ids):
            var seen: Set<GID> = []
            changed = try await self.perform(action, ids.filter { seen.insert($0).inserted })
        case .all(let session): changed = try await self.performOnAll(action, session)
        }
        self.publish()
        return changed
    }

    private func perform(_ action: TransferAction, _ ids: [GID]) async throws(ControlError) -> Int {
        guard !ids.isEmpty else { return 0 }
        // What ended a moment ago has ended.
        for id in ids {
            for lane in self.lanes.values {
                guard lane.queue.entries[id]?.phase == .ended, action != .forget else { continue }
                throw ControlError(.wrongState, "the transfer \(id) has just ended")
            }
        }
        let now = self.now
        let facts = self.liveFacts(ids)
        let before = try await self.write { (writer) throws(QueueStoreError) in
            var found: [StoredTransfer] = []
            for id in ids {
                guard let one = try writer.reader.transfer(id) else { throw QueueStoreError(.notFound(id), "") }
                guard action.applies(to: one.state) else { throw QueueStoreError(.wrongState(id, one.state), "") }
                found.append(one)
            }
            try action.write(found, facts, now, writer)
            return found
        }
        await self.follow(action, before, at: now)
        return before.count
    }

    private func performOnAll(_ action: TransferAction, _ session: String?) async throws(ControlError) -> Int {
        switch action {
        case .pause:
            let count = try await self.write { (writer) throws(QueueStoreError) in
                try writer.setState(.paused, from: .waiting, session: session)
            }
            self.book.move(count, session, from: .waiting, to: .paused)
            guard let lane = self.lanes[session] else { return count }
            let taken = lane.queue.entries.values.filter { $0.phase != .ended }.map(\.transfer)
            await self.paused(lane, taken, isToldOf: { lane.queue.entries[$0]?.hasStarted == true })
            return count
        case .resume:
            let count = try await self.write { (writer) throws(QueueStoreError) in
                try writer.setState(.waiting, from: .paused, session: session)
            }
            self.book.move(count, session, from: .paused, to: .waiting)
            if count > 0 {
                let lane = self.lane(session)
                for id in Array(lane.queue.entries.keys) { self.resumed(lane, id) }
                self.reorder(lane)
            }
            return count
        case .forget:
            let forgotten = try await self.write { (writer) throws(QueueStoreError) in
                try writer.forgetEnded(session: session)
            }
            return self.book.forget(forgotten, session)
        case .retry, .remove, .setPriority:
            return try await self.performInPages(action, session)
        }
    }

    /// A thousand at a time, so that others come between.
    private func performInPages(_ action: TransferAction, _ session: String?) async throws(ControlError) -> Int {
        let isRetry = action == .retry
        let states: Set<TransferRecord.State> = isRetry ? [.failed] : [.waiting, .paused]
        var (offset, changed) = (0, 0)
        // Removed from the end of the line, so that none of them begins meanwhile.
        let isBackward = action.isRemoval
        var left = isRetry ? self.book[session, .failed] : self.book.unfinished(session)
        while left > 0 {
            let (now, start, limit) = (self.now, offset, min(left, 1000))
            let lane = self.lanes[session]
            let facts = self.liveFacts(lane.map { Array($0.queue.entries.keys) } ?? [])
            let before = try await self.write { (writer) throws(QueueStoreError) in
                let found = try writer.reader.transfers(
                    in: states,
                    session: session,
                    offset: start,
                    limit: limit,
                    fromEnd: isBackward
                )
                try action.write(found, facts, now, writer)
                return found
            }
            guard !before.isEmpty else { break }
            await self.follow(action, before, at: now)
            if case .setPriority = action { offset += before.count }
            changed += before.count
            left -= before.count
        }
        return changed
    }

    /// What is stored of transfers that are in an engine's hands.
    private func liveFacts(_ ids: [GID]) -> [GID: LiveFacts] {
        var facts: [GID: LiveFacts] = [:]
        for lane in self.lanes.values {
            for id in ids {
                guard let live = lane.live[id] else { continue }
                facts[id] = LiveFacts(path: live.path, bytes: live.bytes, total: live.total)
            }
        }
        return facts
    }

    // MARK: What follows

    private func follow(_ action: TransferAction, _ before: [StoredTransfer], at now: Double) async {
        let bySession = Dictionary(grouping: before, by: \.session)
        for (session, transfers) in bySession {
            switch action {
            case .pause:
                self.book.move(transfers.count, session, from: .waiting, to: .paused)
                if let lane = self.lanes[session] {
                    await self.paused(lane, transfers, isToldOf: { _ in true })
                } else {
                    self.tellPaused(transfers)
                }
            case .resume:
                self.book.move(transfers.count, session, from: .paused, to: .waiting)
                let lane = self.lane(session)
                for one in transfers { self.resumed(lane, one.id) }
                self.tellQueued(transfers)
                self.reorder(lane)
            case .retry:
                for one in transfers {
                    self.book.move(1, session, from: one.state, to: .waiting)
                    if !one.mayBeCut { self.parts.notes.clear(one.id) }
                }
                self.tellQueued(transfers)
                self.nowWaits(session, priority: transfers.map(\.priority).max() ?? 0, mayPrecede: false)
            case .remove(let deletesPartial): await self.removed(session, transfers, deletesPartial, at: now)
            case .forget:
                for one in transfers { self.book.add(-1, session, one.state) }
            case .setPriority(let priority):
                let lane = self.lane(session)
                for one in transfers { lane.queue.update(one.id) { $0.priority = priority } }
                self.reorder(lane)
            }
        }
    }

    private func paused(_ lane: Lane, _ transfers: [StoredTransfer], isToldOf: (GID) -> Bool) async {
        let told = transfers.filter { isToldOf($0.id) }
        for one in transfers {
            lane.queue.update(one.id) { $0.state = .paused }
            if lane.queue.takeBack(one.id, comesBack: false) != nil { lane.giveBack(one.id) }
        }
        lane.queue.changed()
        await self.waitUntilLeft(transfers.map(\.id), lane.session)
        // One that ended in the same moment was not paused.
        self.tellPaused(told.filter { lane.queue.entries[$0.id]?.phase != .ended })
        self.refill(lane)
    }

    private func tellPaused(_ transfers: [StoredTransfer]) {
        for var one in transfers {
            one.state = .paused
            if self.isHeard { self.tell(.paused(TransferRecord(one))) }
            self.pass(one.session, one.id, ["kind": "paused", "id": .string(one.id.description)])
        }
    }

    private func tellQueued(_ transfers: [StoredTransfer]) {
        for var one in transfers {
            (one.state, one.failure, one.ended) = (.waiting, nil, nil)
            if self.isHeard { self.tell(.queued(self.record(one))) }
            self.pass(one.session, one.id, ["kind": "waiting", "id": .string(one.id.description)])
        }
    }

    private func resumed(_ lane: Lane, _ id: GID) {
        lane.queue.update(id) { if $0.state == .paused { $0.state = .waiting } }
        lane.queue.comesBackAfterAll(id)
    }

    private func removed(
        _ session: String?,
        _ transfers: [StoredTransfer],
        _ deletesPartial: Bool,
        at now: Double
    ) async {
        for one in transfers { self.book.move(1, session, from: one.state, to: .removed) }
        var left = transfers
        if let lane = self.lanes[session] {
            for one in transfers where lane.queue.entries[one.id] != nil {
                lane.queue.update(one.id) { $0.state = .removed }
                if lane.queue.takeBack(one.id, comesBack: false) != nil {
                    lane.giveBack(one.id, keeping: !deletesPartial)
                }
            }
            lane.queue.changed()
            left = transfers.filter { lane.queue.entries[$0.id] == nil }
            await self.waitUntilLeft(transfers.map(\.id), session)
            self.refill(lane)
        }
        if deletesPartial {
            for one in left {
                guard one.upload == nil else {
                    self.lane(session).giveUp(one)
                    continue
                }
                guard let target = one.path.flatMap(Self.target) else { continue }
                self.parts.pool.run { [store = self.parts.store] in try? store.discardPartial(target) }
            }
        }
        for var one in transfers {
            (one.state, one.ended) = (.removed, now)
            if self.isHeard { self.tell(.removed(TransferRecord(one))) }
        }
        if let session { await self.lookAtEvents(session) }
        self.trim()
    }

    private static func target(_ path: String) -> FileTarget? {
        guard let slash = path.lastIndex(of: "/"), path.index(after: slash) < path.endIndex else { return nil }
        return FileTarget(
            directory: slash == path.startIndex ? "/" : String(path[..<slash]),
            name: String(path[path.index(after: slash)...])
        )
    }
}

/// What memory knows of a transfer that the store does not.
struct LiveFacts: Sendable {
    var path: String?
    var bytes: Int64
    var total: Int64?
}

extension TransferAction {
    /// Whether it removes.
    var isRemoval: Bool { if case .remove = self { true } else { false } }

    /// Whether it can be done to a transfer that stands so in the store.
    func applies(to state: TransferRecord.State) -> Bool {
        switch self {
        case .pause: state == .waiting
        case .resume: state == .paused
        case .retry: state == .failed || state == .removed
        case .remove, .setPriority: !state.isEnd
        case .forget: state.isEnd
        }
    }

    /// Stores it for transfers that it can be done to.
    func write(
        _ transfers: [StoredTransfer],
        _ facts: [GID: LiveFacts],
        _ now: Double,
        _ writer: borrowing QueueWriter
    ) throws(QueueStoreError) {
        let ids = transfers.map(\.id)
        guard !ids.isEmpty else { return }
        switch self {
        case .pause: try writer.setState(.paused, of: ids)
        case .resume: try writer.setState(.waiting, of: ids)
        case .retry: try writer.retry(ids)
        case .forget: try writer.forget(ids)
        case .setPriority(let priority): try writer.setPriority(priority, of: ids)
        case .remove:
            try writer.end(
                transfers.map { one in
                    StoredEnd(
                        id: one.id,
                        state: .removed,
                        path: facts[one.id]?.path ?? one.path,
                        bytes: facts[one.id]?.bytes ?? one.bytes,
                        total: facts[one.id]?.total ?? one.total,
                        at: now
                    )
                }
            )
            for one in transfers {
                guard let session = one.session else { continue }
                let event: JSON = [
                    "kind": "removed", "id": .string(one.id.description),
                    "path": .optional(facts[one.id]?.path ?? one.path),
                ]
                _ = try writer.appendEvent(session: session, transfer: one.id, json: event.text)
            }
        }
    }
}
