// SPDX-License-Identifier: Apache-2.0
package import Control
internal import QueueStore
internal import TransferCore

/// Moving transfers in their queue.
extension DaemonCore {
    /// Moves a transfer in its queue; running transfers keep running.
    package func move(_ id: GID, by offset: Int, from origin: MoveOrigin) async throws(ControlError) -> Int {
        let (place, session) = try await self.change(
            { (writer) throws(QueueStoreError) -> (Int, String?) in
                guard let stored = try writer.reader.transfer(id) else { throw QueueStoreError(.notFound(id), "") }
                guard !stored.state.isEnd, let here = try writer.reader.place(of: id) else {
                    throw QueueStoreError(.wrongState(id, stored.state), "")
                }
                let start: Int
                switch origin {
                case .start: start = 0
                case .current: start = here
                case .end:
                    let counts = LaneCounts(try writer.reader.counts(session: stored.session))
                    start = max(0, counts.unfinished - 1)
                }
                let (sum, overflow) = start.addingReportingOverflow(offset)
                let place = overflow ? (offset < 0 ? 0 : Int.max) : max(0, sum)
                return (try writer.move(id, to: place), stored.session)
            },
            then: { core, moved in core.machine.reordered(moved.1) }
        )
        await self.waitUntilOrdered(session)
        return place
    }
}
