import GRDB
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
            SELECT state > 1, queue, position >> iif(state > 1, \(Tally.historyShift), \(Tally.lineShift)), state,
            count(*) FROM transfers GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
            """
        )
        #expect(counted == real)
    }
}
