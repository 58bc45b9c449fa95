// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import QueueStore

extension ScratchStore {
    /// Expects that the table of counts counts exactly the transfers.
    func expectExactTally() async throws {
        try await self.store.read { (reader) throws(QueueStoreError) in try reader.expectExactTally() }
    }
}

extension QueueReader {
    /// Expects that the table of counts counts exactly the transfers.
    func expectExactTally() throws(QueueStoreError) {
        func rows(_ sql: String) throws(QueueStoreError) -> [[Int64?]] {
            try self.connection.all(sql) { row in (0..<5).map { row.integer($0) } }
        }
        let counted = try rows("SELECT isEnded, queue, bucket, state, count FROM tally ORDER BY 1, 2, 3, 4")
        let real = try rows(
            """
            SELECT state > 1, queue, position >> iif(state > 1, \(Tally.historyShift), \(Tally.lineShift)),
            \(TransferColumns.state) AS meaning, count(*) FROM transfers
            WHERE \(TransferColumns.isPresent) AND (state > 1 OR meaning < 2)
            GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
            """
        )
        #expect(counted == real)
        let heads = try rows("SELECT queue, code, host, priority, position FROM heads ORDER BY 1, 2, 3")
        let first = try rows(
            """
            SELECT queue, state, host, priority, position FROM
            (SELECT *, row_number() OVER (PARTITION BY queue, state, host ORDER BY priority DESC, position) AS place
            FROM transfers WHERE state < 2) WHERE place = 1 ORDER BY 1, 2, 3
            """
        )
        #expect(heads == first)
        let removals = try rows("SELECT queue, count + discarded, 0, 0, 0 FROM removals ORDER BY 1")
        let leaving = try rows(
            """
            SELECT queue, count(*), 0, 0, 0 FROM transfers WHERE state < 2 AND \(TransferColumns.state) = 4
            GROUP BY queue ORDER BY 1
            """
        )
        #expect(removals.filter { $0[1] != 0 } == leaving)
    }
}
