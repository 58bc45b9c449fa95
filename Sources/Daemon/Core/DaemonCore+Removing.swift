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
        if deletesPartial { for one in left { self.discard(one) } }
        for var one in transfers {
            self.plans[one.id] = nil
            (one.state, one.ended) = (.removed, now)
            if self.isHeard { self.tell(.removed(TransferRecord(one))) }
        }
        if let session { await self.lookAtEvents(session) }
    }

    /// Deletes the partial file or upload of a transfer that no engine has.
    private func discard(_ transfer: StoredTransfer) {
        guard transfer.upload == nil else { return self.lane(transfer.session).giveUp(transfer) }
        guard let target = transfer.path.flatMap(Self.target) else { return }
        self.parts.pool.run { [store = self.parts.store] in try? store.discardPartial(target) }
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
