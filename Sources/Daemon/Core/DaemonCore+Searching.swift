// SPDX-License-Identifier: Apache-2.0
package import Control
internal import QueueStore
internal import TransferCore

/// Lists in another order than the queue's, and lists of the transfers that contain given words.
extension DaemonCore {
    /// Returns a page of a list that the tallies and indexes do not have.
    func search(_ query: ListQuery) async throws(ControlError) -> [TransferRecord] {
        let filter = self.filter(query)
        let (offset, isBackward) = query.place
        let (order, limit) = (query.order, query.limit)
        let started = self.startedValues(order, query.session)
        let found = try await self.readRows { (reader) throws(QueueStoreError) in
            try reader.transfers(
                matching: filter,
                order: order,
                started: started,
                offset: offset,
                limit: limit,
                isBackward: isBackward
            )
        }
        return found.map { self.record($0) }.filter { filter.states.contains($0.state) }
    }

    /// Returns the counts of the transfers that match a query's session and words.
    package func counts(of query: ListQuery) async throws(ControlError) -> QueueCounts {
        let filter = self.filter(query)
        let found = try await self.read { (reader) throws(QueueStoreError) in try reader.counts(matching: filter) }
        var counts = self.counts
        counts.waiting = found[.waiting] ?? 0
        counts.active = found[.active] ?? 0
        counts.retrying = found[.retrying] ?? 0
        counts.held = found[.held] ?? 0
        counts.paused = found[.paused] ?? 0
        counts.finished = found[.finished] ?? 0
        counts.failed = found[.failed] ?? 0
        counts.removed = found[.removed] ?? 0
        return counts
    }

    private func filter(_ query: ListQuery) -> TransferFilter {
        TransferFilter(
            states: query.states.isEmpty ? Set(TransferRecord.State.allCases) : query.states,
            session: query.session,
            words: query.words,
            started: Dictionary(grouping: self.started(query.session), by: \.state).mapValues { Set($0.map(\.id)) }
        )
    }
}
