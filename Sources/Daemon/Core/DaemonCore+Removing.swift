// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import FileStorage
internal import HTTPTransport
internal import QueueStore
internal import TransferCore
internal import TransferEngine

/// Removing transfers, and deleting those that have ended.
extension DaemonCore {
    /// Reports removed transfers and deletes their partial files, when their engines have released them.
    func removed(
        _ session: String?,
        _ transfers: [StoredTransfer],
        _ deletesPartial: Bool,
        at now: Double
    ) async {
        // An engine deletes the partial files of transfers that it has started.
        let left = transfers.filter {
            self.beingCancelled.remove($0.id) == nil && self.lanes[session]?.live[$0.id] == nil
        }
        await self.waitUntilLeft(transfers.map(\.id), session)
        let kept = transfers.compactMap { one -> StoredTransfer? in
            guard let path = self.keptFiles.removeValue(forKey: one.id) else { return nil }
            var one = one
            one.path = path
            return one
        }
        // Before the caller is told: a daemon that is killed after that does not know what it had to delete.
        await self.discard((deletesPartial ? left : []) + kept)
        for var one in transfers {
            (one.state, one.ended) = (.removed, now)
            if self.isHeard(.removed) { self.tell(.removed(TransferRecord(one))) }
        }
        if let session { await self.lookAtEvents(session) }
    }

    /// Removes all transfers of the shared queue in one transaction.
    ///
    /// Transfers that an engine has are reported one by one, like other removals. The others count as removed at once;
    /// the store completes them in the background, in small steps, and reports those that may have files.
    func removeAll(deletingPartial deletesPartial: Bool) async throws(ControlError) -> Int {
        let action = TransferAction.remove(deletesPartial: deletesPartial)
        let (now, history) = (self.now, self.machine.historyLimit)
        let taken = self.lanes[nil].map { Array($0.live.keys) } ?? []
        let facts = self.liveFacts(taken)
        let removed = try await self.change(
            { (writer) throws(QueueStoreError) -> (found: [StoredTransfer], others: Int) in
                var found: [StoredTransfer] = []
                for id in taken {
                    guard var one = try writer.reader.transfer(id), !one.state.isEnd else { continue }
                    one.path = facts[id]?.path ?? one.path
                    found.append(one)
                }
                try action.write(found, facts, now, writer)
                let others: (removed: Int, kept: Int) = try writer.removeAll(
                    session: nil,
                    at: now,
                    keeping: history,
                    deletesPartial: deletesPartial
                )
                return (found: found, others: others.removed)
            },
            touching: { _ in [nil] },
            then: { core, removed in
                core.apply(action, removed.found)
                core.endedInAll += removed.others
                // Transfers claimed in the meantime have not started, or have only just started.
                core.machine.removed(nil, core.machine.taken(nil), keeping: !deletesPartial)
                core.added.clear()
            }
        )
        await self.follow(action, removed.found, at: now)
        self.tell(.all(.removed, session: nil, count: removed.found.count + removed.others))
        return removed.found.count + removed.others
    }

    /// Deletes the files of transfers whose removal the store has completed, some time after it was requested.
    ///
    /// A partial file written since then belongs to a transfer of the same name that was added since then.
    func deleteFiles(of transfers: [StoredTransfer], deletingPartial deletesPartial: Bool) {
        guard deletesPartial else { return }
        for one in transfers where self.lanes[one.session]?.live[one.id] == nil {
            guard let target = self.letGo(one) else { continue }
            self.parts.pool.run { [store = self.parts.store] in
                try? store.discardPartial(target, unlessWrittenSince: one.ended)
            }
        }
    }

    /// Deletes the partial files and uploads of transfers that no engine has; returns when the files are deleted.
    private func discard(_ transfers: [StoredTransfer]) async {
        let targets = transfers.compactMap { self.letGo($0) }
        guard !targets.isEmpty else { return }
        await withCheckedContinuation { deleted in
            self.parts.pool.run { [store = self.parts.store] in
                for target in targets { try? store.discardPartial(target) }
                deleted.resume()
            }
        }
    }

    /// Gives up an upload; returns the place of a download, if it has one.
    private func letGo(_ transfer: StoredTransfer) -> FileTarget? {
        guard transfer.upload == nil else {
            self.lane(transfer.session).giveUp(transfer)
            return nil
        }
        return transfer.path.flatMap(Self.target)
    }

    func forgetAll(_ session: String?) async throws(ControlError) -> Int {
        let forgotten = try await self.change(
            { (writer) throws(QueueStoreError) in try writer.forgetEnded(session: session) },
            touching: { _ in [session] }
        )
        return forgotten.values.reduce(0, +)
    }

    private static func target(_ path: String) -> FileTarget? {
        guard let slash = path.lastIndex(of: "/"), path.index(after: slash) < path.endIndex else { return nil }
        return FileTarget(
            directory: slash == path.startIndex ? "/" : String(path[..<slash]),
            name: String(path[path.index(after: slash)...])
        )
    }
}
