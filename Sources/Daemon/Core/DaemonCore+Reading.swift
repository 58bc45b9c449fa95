// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import QueueStore
internal import TransferCore

/// Reads of transfers that may end in the meantime.
///
/// A running transfer is stored as waiting; that it runs is known in memory. One that ends while the rows are read is neither
/// stored as ended in them nor running any more: its row is read again.
extension DaemonCore {
    /// Reads a consistent state of the store, and translates its errors.
    func read<T: Sendable>(
        _ work: @escaping @Sendable (borrowing QueueReader) throws(QueueStoreError) -> T
    ) async throws(ControlError) -> T {
        guard !self.isStopping else { throw Self.stopping }
        do throws(QueueStoreError) {
            return try await self.store.read(work)
        } catch {
            throw ControlError(error)
        }
    }

    /// Reads the rows of transfers; those that ended during the read are as they are after it.
    func readRows(
        _ work: @escaping @Sendable (borrowing QueueReader) throws(QueueStoreError) -> [StoredTransfer]
    ) async throws(ControlError) -> [StoredTransfer] {
        let running = self.activeIDs(nil)
        return try await self.afterEnds(try await self.read(work), running)
    }

    /// Reads those rows again that were read as waiting of transfers that ran then, and run no more.
    func afterEnds(_ found: [StoredTransfer], _ running: Set<GID>) async throws(ControlError) -> [StoredTransfer] {
        guard !running.isEmpty else { return found }
        let ids = found.filter { running.contains($0.id) && self.hasLeft($0) }.map(\.id)
        guard !ids.isEmpty else { return found }
        let rows = try await self.read { (reader) throws(QueueStoreError) in
            var rows: [GID: StoredTransfer] = [:]
            for id in ids { rows[id] = try reader.transfer(id) }
            return rows
        }
        let left = Set(ids)
        return found.compactMap { stored in
            guard left.contains(stored.id) else { return stored }
            var row = rows[stored.id]
            row?.number = stored.number
            return row
        }
    }

    /// Whether a transfer that ran when its row was read as waiting runs no more.
    func hasLeft(_ stored: StoredTransfer) -> Bool {
        stored.state == .waiting && self.machine.entry(stored.id.rawValue, in: stored.session)?.isActive != true
    }
}
