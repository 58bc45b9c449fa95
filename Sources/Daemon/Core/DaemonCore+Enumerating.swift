// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import QueueStore

/// Lists in the order of the rows' numbers, which never change.
extension DaemonCore {
    /// Returns the next transfers of an enumeration.
    ///
    /// A transfer that exists during the complete enumeration is returned exactly once, in the state that it has when
    /// its page is read, however transfers move, start, end, or are added or forgotten between the pages. A page by
    /// offset shifts with each of these changes.
    ///
    /// - Parameters:
    ///   - query: The states, the session and the limit.
    ///   - key: The key of the last transfer of the previous page, or 0.
    /// - Returns: Up to the limit; none only at the end.
    /// - Throws: ``ControlError`` with `storage`.
    func enumerate(_ query: ListQuery, after key: Int64) async throws(ControlError) -> [TransferRecord] {
        let states = query.states.isEmpty ? Set(TransferRecord.State.allCases) : query.states
        if states.isSubset(of: TransferRecord.State.started) { return try await self.enumerateStarted(query, states, after: key) }
        var stored = states
        // A started transfer is stored as waiting.
        if !stored.isDisjoint(with: TransferRecord.State.started) { stored.insert(.waiting) }
        let session = query.session
        var (records, last): ([TransferRecord], Int64?) = ([], max(0, key))
        while let number = last, records.count < query.most {
            let limit = query.most - records.count
            let running = self.activeIDs(session)
            let page = try await self.read { [stored] (reader) throws(QueueStoreError) in
                try reader.matching(limit, behind: number, in: stored, session: session)
            }
            last = page.next
            let transfers = try await self.afterEnds(page.transfers, running)
            records += transfers.map { self.keyed($0) }.filter { states.contains($0.state) }
        }
        return records
    }

    private func keyed(_ stored: StoredTransfer) -> TransferRecord {
        var record = self.record(stored)
        record.key = stored.number
        return record
    }

    /// Returns the next started transfers, which are known without reading the rows of all waiting ones.
    private func enumerateStarted(
        _ query: ListQuery,
        _ states: Set<TransferRecord.State>,
        after key: Int64
    ) async throws(ControlError) -> [TransferRecord] {
        var last = key
        while true {
            let stored = try await self.active(query, after: last)
            guard let number = stored.last?.number else { return [] }
            last = number
            // Some may have ended meanwhile.
            let records = stored.map { self.keyed($0) }.filter { states.contains($0.state) }
            if !records.isEmpty { return records }
        }
    }

    private func active(_ query: ListQuery, after key: Int64) async throws(ControlError) -> [StoredTransfer] {
        let ids = self.activeIDs(query.session)
        return try await self.read { (reader) throws(QueueStoreError) in
            var numbers: [(key: Int64, id: GID)] = []
            for id in ids {
                if let number = try reader.number(of: id), number > key { numbers.append((number, id)) }
            }
            var found: [StoredTransfer] = []
            for (number, id) in numbers.sorted(by: { $0.key < $1.key }).prefix(query.most) {
                guard var transfer = try reader.transfer(id) else { continue }
                transfer.number = number
                found.append(transfer)
            }
            return found
        }
    }
}

extension QueueReader {
    /// The number of rows that one read examines at most, so that other reads have their turn in between.
    private static let mostRows = 100_000

    /// Reads rows until enough of them match.
    fileprivate func matching(
        _ limit: Int,
        behind number: Int64,
        in states: Set<TransferRecord.State>,
        session: String??
    ) throws(QueueStoreError) -> (transfers: [StoredTransfer], next: Int64?) {
        var found: [StoredTransfer] = []
        var (last, rows): (Int64?, Int) = (number, 0)
        while let behind = last, found.count < limit, rows < Self.mostRows {
            // Not more rows than are still wanted: the next page begins after the last row that was read.
            let count = limit - found.count
            let page = try self.transfers(behind: behind, in: states, session: session, limit: count)
            found += page.transfers
            rows += count
            last = page.next
        }
        return (found, last)
    }
}
