// SPDX-License-Identifier: Apache-2.0
package import Control
internal import QueueStore
internal import TransferCore

/// Actions on transfers: an action is stored first, then the engines follow.
extension DaemonCore {
    /// Performs an action on each selected transfer.
    @discardableResult
    package func perform(
        _ action: TransferAction,
        on selection: TransferSelection
    ) async throws(ControlError) -> Int {
        switch selection {
        case .ids(let ids):
            var seen: Set<GID> = []
            return try await self.perform(action, ids.filter { seen.insert($0).inserted })
        case .all(let session): return try await self.performOnAll(action, session)
        }
    }

    private func perform(_ action: TransferAction, _ ids: [GID]) async throws(ControlError) -> Int {
        guard !ids.isEmpty else { return 0 }
        // A transfer whose end is being stored cannot change any more.
        for id in ids where action != .forget {
            for lane in self.lanes.values where lane.live[id] != nil {
                guard self.machine.entry(id.rawValue, in: lane.session)?.phase == .ended else { continue }
                throw ControlError(.wrongState, "the transfer \(id) has just ended")
            }
        }
        let now = self.now
        let facts = self.liveFacts(ids)
        let held = action.triesAtOnce ? try await self.held(ids) : []
        let heldIDs = Set(held.map(\.id))
        let before = try await self.change(
            { (writer) throws(QueueStoreError) in
                var found: [StoredTransfer] = []
                for id in ids {
                    guard var one = try writer.reader.transfer(id) else { throw QueueStoreError(.notFound(id), "") }
                    // Its engine may release it before the action is followed; its path is then stored nowhere else.
                    one.path = facts[id]?.path ?? one.path
                    if one.state == .waiting, heldIDs.contains(id) { continue }
                    guard action.applies(to: one.state) else { throw QueueStoreError(.wrongState(id, one.state), "") }
                    found.append(one)
                }
                try action.write(found, facts, now, writer)
                return found
            },
            touching: { Set($0.map(\.session)) },
            then: { core, before in
                core.apply(action, before)
                guard action.triesAtOnce else { return }
                for one in held { core.tryAtOnce(one) }
                for (session, transfers) in Dictionary(grouping: before + held, by: \.session) {
                    core.lanes[session]?.releaseHolds(of: transfers)
                }
            }
        )
        await self.follow(action, before, at: now)
        return before.count + held.count
    }

    /// Restarts a started transfer that waits for its own retry (such as after `Retry-After`), not for its host's hold.
    private func tryAtOnce(_ transfer: StoredTransfer) {
        guard let live = self.lanes[transfer.session]?.live[transfer.id], live.retry != nil,
            let entry = self.machine.entry(transfer.id.rawValue, in: transfer.session), entry.hasStarted
        else { return }
        self.machine.changed(transfer.session, transfer.id.rawValue)
    }

    /// Returns those of the given transfers that wait for a held host, or for their next attempt.
    private func held(_ ids: [GID]) async throws(ControlError) -> [StoredTransfer] {
        let waits = self.lanes.values.contains { lane in
            lane.networkHold != nil || !lane.holds.isEmpty || ids.contains { lane.live[$0]?.retry != nil }
        }
        guard waits else { return [] }
        let found = try await self.read { (reader) throws(QueueStoreError) in
            var found: [StoredTransfer] = []
            for id in ids { if let one = try reader.transfer(id) { found.append(one) } }
            return found
        }
        return found.filter { transfer in
            guard transfer.state == .waiting, let lane = self.lanes[transfer.session] else { return false }
            return lane.live[transfer.id]?.retry != nil || lane.hold(of: transfer) != nil
        }
    }

    private func performOnAll(_ action: TransferAction, _ session: String?) async throws(ControlError) -> Int {
        switch action {
        case .pause: return try await self.pauseAll(session)
        case .resume: return try await self.resumeAll(session)
        case .forget: return try await self.forgetAll(session)
        case .retry:
            self.lanes[session]?.releaseHolds(of: nil)
            return try await self.performInPages(action, session)
        case .remove(let deletesPartial) where session == nil:
            return try await self.removeAll(deletingPartial: deletesPartial)
        case .remove: return try await self.performInPages(action, session)
        case .setPriority: return try await self.performByKey(action, session)
        }
    }

    /// Performs an action on all unfinished transfers, a thousand per transaction, in the order of their keys.
    ///
    /// Transfers that the action leaves in the queue would shift against an offset when others end in between.
    private func performByKey(_ action: TransferAction, _ session: String?) async throws(ControlError) -> Int {
        var (last, changed): (Int64?, Int) = (0, 0)
        while let behind = last {
            let now = self.now
            let facts = self.liveFacts(self.lanes[session].map { Array($0.live.keys) } ?? [])
            let page = try await self.change(
                { (writer) throws(QueueStoreError) in
                    let page = try writer.reader.transfers(
                        behind: behind,
                        in: [.waiting, .paused],
                        session: session,
                        limit: 1000
                    )
                    try action.write(page.transfers, facts, now, writer)
                    return page
                },
                touching: { _ in [session] },
                then: { core, page in core.apply(action, page.transfers) }
            )
            await self.follow(action, page.transfers, at: now)
            changed += page.transfers.count
            last = page.next
        }
        return changed
    }

    /// Performs an action that removes transfers from the selection, on a thousand per transaction, so that other
    /// changes can run in between.
    private func performInPages(_ action: TransferAction, _ session: String?) async throws(ControlError) -> Int {
        let isRetry = action == .retry
        let states: Set<TransferRecord.State> = isRetry ? [.failed] : [.waiting, .paused]
        var changed = 0
        // Removal runs from the end of the queue, so that none of the transfers starts in between.
        let isBackward = action.isRemoval
        let counts = self.machine.counts(of: session)
        var left = isRetry ? counts.failed : counts.unfinished
        while left > 0 {
            let (now, limit) = (self.now, min(left, 1000))
            let facts = self.liveFacts(self.lanes[session].map { Array($0.live.keys) } ?? [])
            let before = try await self.change(
                { (writer) throws(QueueStoreError) in
                    let found = try writer.reader.transfers(
                        in: states,
                        session: session,
                        offset: 0,
                        limit: limit,
                        fromEnd: isBackward
                    )
                    try action.write(found, facts, now, writer)
                    return found
                },
                touching: { _ in [session] },
                then: { core, before in core.apply(action, before) }
            )
            guard !before.isEmpty else { break }
            await self.follow(action, before, at: now)
            changed += before.count
            left -= before.count
        }
        return changed
    }

    /// Returns the paths and byte counts of transfers on engines, to be stored.
    func liveFacts(_ ids: [GID]) -> [GID: LiveFacts] {
        var facts: [GID: LiveFacts] = [:]
        for lane in self.lanes.values where !lane.live.isEmpty {
            for id in ids {
                guard let live = lane.live[id] else { continue }
                facts[id] = LiveFacts(path: live.path, bytes: live.bytes, total: live.total)
            }
        }
        return facts
    }

    // MARK: Following a stored action

    /// Applies a stored action to the machine, before any later transaction.
    func apply(_ action: TransferAction, _ before: [StoredTransfer]) {
        for (session, transfers) in Dictionary(grouping: before, by: \.session) {
            let ids = transfers.map(\.id.rawValue)
            switch action {
            case .pause: self.machine.paused(session, ids)
            case .resume:
                self.lane(session)
                self.machine.resumed(session, ids)
            case .retry:
                for one in transfers where !one.mayBeCut { self.parts.notes.clear(one.id) }
                self.nowWaits(session, priority: transfers.map(\.priority).max() ?? 0, mayPrecede: false)
            case .remove(let deletesPartial):
                self.endedInAll += transfers.count
                for one in transfers {
                    self.added.take(one.id)
                    guard let phase = self.machine.entry(one.id.rawValue, in: session)?.phase else { continue }
                    if phase != .staged { self.beingCancelled.insert(one.id) }
                    guard phase == .leaving, deletesPartial, one.upload == nil else { continue }
                    self.keptFiles[one.id] = self.lanes[session]?.live[one.id]?.path ?? one.path
                }
                self.machine.removed(session, ids, keeping: !deletesPartial)
            case .forget: break
            case .setPriority(let priority):
                for one in transfers {
                    self.added.take(one.id)
                    self.lanes[session]?.live[one.id]?.transfer.priority = priority
                }
                self.lane(session)
                self.machine.reordered(session)
            }
        }
    }

    /// Reports an action when the engines have followed it.
    func follow(_ action: TransferAction, _ before: [StoredTransfer], at now: Double) async {
        for (session, transfers) in Dictionary(grouping: before, by: \.session) {
            switch action {
            case .pause: await self.paused(session, transfers)
            case .resume, .retry:
                self.tellQueued(transfers)
                await self.waitUntilOrdered(session)
            case .remove(let deletesPartial): await self.removed(session, transfers, deletesPartial, at: now)
            case .setPriority: await self.waitUntilOrdered(session)
            case .forget: break
            }
        }
        self.publish()
    }

    // MARK: Pausing and resuming

    private func pauseAll(_ session: String?) async throws(ControlError) -> Int {
        var started: [StoredTransfer] = []
        for (id, live) in self.lanes[session]?.live ?? [:] {
            guard self.machine.entry(id.rawValue, in: session)?.hasStarted == true else { continue }
            started.append(live.transfer)
        }
        let progress = self.liveFacts(started.map(\.id)).progress
        let count = try await self.change(
            { (writer) throws(QueueStoreError) in
                let count = try writer.setState(.paused, from: .waiting, session: session)
                try writer.setProgress(progress)
                return count
            },
            touching: { _ in [session] },
            then: { core, _ in core.machine.paused(session, core.machine.taken(session)) }
        )
        await self.paused(session, started)
        self.publish()
        self.tell(.all(.paused, session: session, count: count))
        return count
    }

    private func resumeAll(_ session: String?) async throws(ControlError) -> Int {
        let count = try await self.change(
            { (writer) throws(QueueStoreError) in
                try writer.setState(.waiting, from: .paused, session: session)
            },
            touching: { _ in [session] },
            then: { core, count in
                guard count > 0 else { return }
                core.lane(session)
                core.machine.resumed(session, core.machine.taken(session))
            }
        )
        self.tell(.all(.waiting, session: session, count: count))
        return count
    }

    private func paused(_ session: String?, _ transfers: [StoredTransfer]) async {
        await self.waitUntilLeft(transfers.map(\.id), session)
        // A transfer that has ended in the meantime was not paused.
        for var one in transfers where self.machine.entry(one.id.rawValue, in: session)?.phase != .ended {
            one.state = .paused
            if self.isHeard(.paused) { self.tell(.paused(TransferRecord(one))) }
            self.pass(one.session, one.id, ["kind": "paused", "id": .string(one.id.description)])
        }
    }

    private func tellQueued(_ transfers: [StoredTransfer]) {
        for var one in transfers {
            (one.state, one.failure, one.ended) = (.waiting, nil, nil)
            if self.isHeard(.queued) { self.tell(.queued(self.record(one))) }
            self.pass(one.session, one.id, ["kind": "waiting", "id": .string(one.id.description)])
        }
    }
}
