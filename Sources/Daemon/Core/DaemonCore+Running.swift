// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Logging
internal import QueueStore
internal import TransferCore
internal import TransferEngine

/// A claim, and the query that performs it.
struct PlannedClaim: Sendable {
    let session: String?
    let claim: QueueMachine.Claim
    var query: TurnQuery
}

/// Performs the machine's actions.
extension DaemonCore {
    /// Performs the machine's actions until there are none.
    func pump() {
        guard !self.hasStopped else { return }
        while let action = self.machine.next(now: self.uptime) {
            switch action {
            case .claim(let session, let claim): self.claim(session, claim)
            case .withdraw(let session, let ids): self.withdraw(session, ids)
            case .cancel(let session, let id, let keeping):
                guard let id = GID(rawValue: id) else { continue }
                self.lanes[session]?.cancel(id, keeping: keeping)
            case .stage(let session, let ids): self.stage(session, ids)
            case .limit(let session, let limit): self.lanes[session]?.setLimit(limit)
            case .store: self.storeRecords()
            case .trim(let count): self.trim(keeping: count)
            case .wake(let time): self.wake(at: time)
            }
        }
        // A session without transfers does not need an engine.
        for session in self.lanes.keys where session != nil && self.machine.isIdle(session) {
            guard self.lanes[session]?.live.isEmpty == true else { continue }
            self.machine.close(session)
            self.lanes[session] = nil
        }
        for session in self.orderWaiters.keys where !self.machine.isClaiming(session) {
            for waiter in self.orderWaiters.removeValue(forKey: session) ?? [] { waiter.resume() }
        }
    }

    private func wake(at time: Int64) {
        self.timer?.cancel()
        self.timer = Task {
            await self.configuration.clock.sleep(.nanoseconds(max(0, time - self.uptime)))
            guard !Task.isCancelled else { return }
            self.machine.woke()
            self.pump()
        }
    }

    // MARK: Claiming

    /// Reads the next transfers to run, in the order of the store's transactions, so that it sees every earlier change.
    private func claim(_ session: String?, _ claim: QueueMachine.Claim) {
        let query = self.query(session, claim)
        self.later(
            { (writer) throws(QueueStoreError) in try writer.reader.nextToRun(query) },
            isAwaited: true,
            writes: false,
            done: { core, result in
                switch result {
                case .success(let found): core.claimed(session, claim, found)
                case .failure(let error):
                    if error.code != .closed {
                        core.configuration.logger.error("the queue cannot be read: \(error.message)")
                    }
                    core.machine.claimFailed(session)
                }
            }
        )
    }

    private func query(_ session: String?, _ claim: QueueMachine.Claim) -> TurnQuery {
        var query = TurnQuery(session: session, limit: claim.limit)
        query.excluded = Set(claim.excluded.compactMap { GID(rawValue: $0) })
        for (host, room) in claim.caps { query.room[HostKey(rawValue: host)] = room }
        query.known = self.added.ids
        return query
    }

    /// Plans the claims to perform in the transaction that adds transfers: at most one for each queue.
    func claims(adding groups: [[Addition]]) -> [PlannedClaim] {
        var claims: [PlannedClaim] = []
        var places: [String?: Int] = [:]
        for entry in groups.joined() where entry.transfer.state == .waiting {
            let session = entry.transfer.session
            if places[session] == nil {
                self.lane(session)
                guard let claim = self.machine.claimWhileAdding(session) else { continue }
                places[session] = claims.count
                claims.append(PlannedClaim(session: session, claim: claim, query: self.query(session, claim)))
            }
            if let place = places[session] { claims[place].query.known.insert(entry.transfer.id) }
        }
        return claims
    }

    func claimed(_ session: String?, _ claim: QueueMachine.Claim, _ found: [NextTransfer]) {
        guard let lane = self.lanes[session] else { return }
        lane.claimed = Dictionary(minimumCapacity: found.count)
        var claimed: [QueueMachine.Claimed] = []
        claimed.reserveCapacity(found.count)
        for next in found {
            guard let transfer = next.transfer ?? self.added[next.id] else { continue }
            lane.claimed[next.id] = Lane.Claimed(transfer: transfer, standing: next.standing)
            claimed.append(
                QueueMachine.Claimed(
                    id: next.id.rawValue,
                    host: next.host.rawValue,
                    priority: transfer.priority,
                    mayBeCut: transfer.mayBeCut
                )
            )
        }
        self.machine.claimed(session, claim, claimed)
        // The others were changed after the claim was made: the next one reads them.
        if claimed.count < found.count { self.machine.reordered(session) }
    }

    private func stage(_ session: String?, _ ids: [QueueMachine.ID]) {
        guard let lane = self.lanes[session] else { return }
        for id in ids {
            guard let id = GID(rawValue: id), let claimed = lane.claimed.removeValue(forKey: id) else { continue }
            let plan = self.added.take(id)?.plan
            do throws(TransferRecord.Failure) {
                try lane.stage(claimed, plan)
            } catch {
                self.ended(lane, claimed.transfer, failure: error)
            }
        }
        lane.claimed = [:]
    }

    private func withdraw(_ session: String?, _ ids: [QueueMachine.ID]) {
        let gone = self.lanes[session]?.withdraw(ids.compactMap { GID(rawValue: $0) }) ?? []
        self.machine.withdrew(session, ids, gone: Set(gone.map(\.rawValue)))
    }

    // MARK: Waiting for an engine

    /// Returns when none of these transfers is being cancelled any more.
    func waitUntilLeft(_ ids: [GID], _ session: String?) async {
        for id in ids {
            guard self.machine.entry(id.rawValue, in: session)?.phase == .leaving else { continue }
            await withCheckedContinuation { self.leaveWaiters[id, default: []].append($0) }
        }
    }

    /// Returns when a pending claim has completed: then transfers that have not started are in the store's order.
    ///
    /// The rate of reordering is limited; this does not wait for a claim that the limit delays.
    func waitUntilOrdered(_ session: String?) async {
        guard !self.hasStopped, self.machine.isClaiming(session) else { return }
        await withCheckedContinuation { self.orderWaiters[session, default: []].append($0) }
    }

    func wake(_ id: GID) {
        guard !self.leaveWaiters.isEmpty else { return }
        for waiter in self.leaveWaiters.removeValue(forKey: id) ?? [] { waiter.resume() }
    }
}
