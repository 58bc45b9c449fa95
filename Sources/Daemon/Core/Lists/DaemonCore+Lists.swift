// SPDX-License-Identifier: Apache-2.0
package import Control
internal import HTTPTransport
internal import QueueStore
internal import TransferEngine

extension DaemonCore {
    /// Copies the current transfers into a list that is read in pages.
    package func openList(_ query: ListQuery) async throws(ControlError) -> (list: String, count: Int) {
        let states = query.states.isEmpty ? Set(TransferRecord.State.allCases) : query.states
        let running = self.activeIDs(nil)
        let list: SpooledList
        do throws(QueueStoreError) {
            list = try await self.store.snapshot(states: states, session: query.session)
        } catch {
            throw ControlError(error)
        }
        return (self.lists.add(list, running: running), list.count)
    }

    /// Returns the next transfers of a list; at its end returns none and drops the list.
    ///
    /// Running transfers are returned with their current progress, and those that have ended since with their end.
    package func readList(_ name: String, limit: Int) async throws(ControlError) -> [TransferRecord] {
        guard let (list, running) = self.lists.list(name) else {
            throw ControlError(.notFound, "the list '\(name.prefix(32))' does not exist", remedy: "open it again")
        }
        let result: Result<[StoredTransfer], QueueStoreError> = await withCheckedContinuation { continuation in
            // The file is read outside the actor.
            self.parts.pool.run {
                continuation.resume(
                    returning: Result { () throws(QueueStoreError) in try list.next(max(1, limit)) }
                )
            }
        }
        let found: [StoredTransfer]
        do throws(QueueStoreError) {
            found = try result.get()
        } catch {
            throw ControlError(error)
        }
        let current = try await self.afterEnds(found, running)
        // Only the end of the list has no transfers.
        if current.isEmpty, !found.isEmpty { return try await self.readList(name, limit: limit) }
        if found.isEmpty { self.lists.drop(name) }
        return current.map { self.record($0) }
    }
}
