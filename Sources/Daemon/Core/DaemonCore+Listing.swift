// SPDX-License-Identifier: Apache-2.0
package import Control
internal import QueueStore
internal import TransferCore

extension DaemonCore {
    /// Returns the only transfer whose identifier begins with `prefix`.
    package func resolve(_ prefix: String) async throws(ControlError) -> GID {
        guard !prefix.isEmpty, prefix.utf8.count <= 16, prefix.allSatisfy(\.isHexDigit) else {
            throw ControlError(
                .badParameter,
                "'\(prefix.prefix(40))' is not an identifier",
                remedy: "give 1 to 16 hexadecimal digits"
            )
        }
        let found = try await self.read { (reader) throws(QueueStoreError) in try reader.transfer(beginning: prefix) }
        guard let found else { throw ControlError(.notFound, "the transfer \(prefix) does not exist") }
        return found
    }

    /// Returns one transfer.
    package func record(_ id: GID, withPosition: Bool) async throws(ControlError) -> TransferRecord {
        let wasLive = self.lanes.values.contains { $0.live[id] != nil }
        let (stored, place) = try await self.read { (reader) throws(QueueStoreError) in
            (try reader.transfer(id), withPosition ? try reader.place(of: id) : nil)
        }
        guard let stored else { throw ControlError(.notFound, "the transfer \(id) does not exist") }
        // It has ended since its row was read.
        if wasLive, self.hasLeft(stored), !self.lanes.values.contains(where: { $0.live[id] != nil }) {
            return try await self.record(id, withPosition: withPosition)
        }
        var record = self.record(stored)
        record.position = stored.state.isEnd ? nil : place
        return record
    }

    /// Returns a page of transfers.
    ///
    /// A started transfer is stored as waiting: a query for waiting transfers without started ones skips their places.
    package func list(_ query: ListQuery) async throws(ControlError) -> [TransferRecord] {
        if let prefix = query.prefix { return try await self.matching(prefix, query) }
        if let key = query.after { return try await self.enumerate(query, after: key) }
        if !query.words.isEmpty || query.order != .queue { return try await self.search(query) }
        let states = query.states.isEmpty ? Set(TransferRecord.State.allCases) : query.states
        let limit = query.most
        let (offset, isBackward) = query.place
        guard limit > 0 else { return [] }
        let started = states.intersection(TransferRecord.State.started)
        let stored = states.subtracting(started)
        // The rows alone tell: started transfers are among the waiting ones, or none of them is wanted.
        let rowsTell =
            states.contains(.waiting)
            ? started == TransferRecord.State.started
            : started.isEmpty && !states.contains(.paused)
        if rowsTell {
            return try await self.page(stored, query.session, offset, limit, isBackward)
        }
        // Started transfers come first, then the others.
        let first = started.isEmpty ? [] : self.started(query.session).filter { started.contains($0.state) }
        if stored.isEmpty { return Self.page(first, offset, limit, isBackward) }
        let ids = self.activeIDs(query.session)
        if isBackward {
            let rest = try await self.page(without: ids, stored, query.session, 0, offset + limit, true)
            return Self.page(first + rest.reversed(), offset, limit, true)
        }
        let page = Self.page(first, offset, limit, false)
        guard page.count < limit else { return page }
        let skipped = max(0, offset - first.count)
        return page + (try await self.page(without: ids, stored, query.session, skipped, limit - page.count, false))
    }

    /// Returns the transfers whose identifiers begin with some digits.
    private func matching(_ prefix: String, _ query: ListQuery) async throws(ControlError) -> [TransferRecord] {
        var records: [TransferRecord] = []
        var last: GID?
        while records.count < query.most {
            let page = try await self.read { [last] (reader) throws(QueueStoreError) in
                var page: [StoredTransfer] = []
                for id in try reader.identifiers(beginning: prefix, after: last, limit: Self.matchingPage) {
                    if let stored = try reader.transfer(id) { page.append(stored) }
                }
                return page
            }
            guard let end = page.last else { break }
            last = end.id
            records += page.map { self.record($0) }
                .filter { record in
                    (query.states.isEmpty || query.states.contains(record.state))
                        && (query.session.map { $0 == record.session } ?? true)
                }
        }
        return Array(records.prefix(query.most))
    }

    /// The number of rows that one read of ``matching(_:_:)`` examines.
    private static var matchingPage: Int { 500 }

    /// Returns the started transfers of a session, of the shared queue, or of all.
    func activeIDs(_ session: String??) -> Set<GID> {
        var ids: Set<GID> = []
        for lane in self.lanes.values where session == nil || session == .some(lane.session) {
            for (id, entry) in self.machine[lane: lane.session]?.entries ?? [:] where entry.isActive {
                if let id = GID(rawValue: id) { ids.insert(id) }
            }
        }
        return ids
    }

    private static func page(
        _ records: [TransferRecord],
        _ offset: Int,
        _ limit: Int,
        _ isBackward: Bool
    ) -> [TransferRecord] {
        Array((isBackward ? records.reversed() : records).dropFirst(offset).prefix(limit))
    }

    private func page(
        _ states: Set<TransferRecord.State>,
        _ session: String??,
        _ offset: Int,
        _ limit: Int,
        _ isBackward: Bool
    ) async throws(ControlError) -> [TransferRecord] {
        let found = try await self.readRows { (reader) throws(QueueStoreError) in
            try reader.transfers(in: states, session: session, offset: offset, limit: limit, fromEnd: isBackward)
        }
        return found.filter { states.contains($0.state) }.map { self.record($0) }
    }

    /// Returns a page of the transfers in some states, without the transfers in `left`.
    private func page(
        without left: Set<GID>,
        _ states: Set<TransferRecord.State>,
        _ session: String??,
        _ offset: Int,
        _ limit: Int,
        _ isBackward: Bool
    ) async throws(ControlError) -> [TransferRecord] {
        let found = try await self.readRows { (reader) throws(QueueStoreError) in
            // The stored offset: the requested one plus the number of skipped transfers before it.
            var raw = offset
            let places = try reader.places(of: left, in: states, session: session, fromEnd: isBackward)
            for place in places.sorted() where place <= raw { raw += 1 }
            var page: [StoredTransfer] = []
            while page.count < limit {
                let wanted = limit - page.count + min(left.count, 256)
                let chunk = try reader.transfers(
                    in: states,
                    session: session,
                    offset: raw,
                    limit: wanted,
                    fromEnd: isBackward
                )
                raw += chunk.count
                page += chunk.filter { !left.contains($0.id) }.prefix(limit - page.count)
                if chunk.count < wanted { break }
            }
            return page
        }
        return found.filter { states.contains($0.state) }.map { self.record($0) }
    }
}
