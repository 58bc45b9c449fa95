// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import QueueStore

/// What SQLite makes of statements that must not pass all of a queue.
@Suite struct PlanTests {
    @Test(
        arguments: [
            ("", "(queue=? AND state=? AND host=?)"),
            ("AND priority = ? AND position >= ?", "(queue=? AND state=? AND host=? AND priority=? AND position>?)"),
            ("AND priority < ?", "(queue=? AND state=? AND host=? AND priority<?)"),
        ]
    )
    func aHostsLineIsFoundByTheIndexAlone(range: String, keys: String) async throws {
        let scratch = try ScratchStore()
        let plan = try await scratch.store.read { (reader) throws(QueueStoreError) in
            try reader.connection.all(
                """
                EXPLAIN QUERY PLAN SELECT priority, position, id, number FROM transfers \(Heads.line) \(range)
                ORDER BY priority DESC, position LIMIT 1
                """,
                Array(repeating: nil, count: keys.count { $0 == "?" })
            ) { $0.text(3) ?? "" }
        }
        #expect(plan == ["SEARCH transfers USING COVERING INDEX ready \(keys)"])
    }

    @Test func anEndFindsItsRowByTheNumber() async throws {
        let scratch = try ScratchStore()
        let plan = try await scratch.store.write { (writer) throws(QueueStoreError) in
            try writer.connection.all(
                "EXPLAIN QUERY PLAN \(QueueWriter.ending)",
                Array(repeating: nil, count: QueueWriter.ending.count { $0 == "?" })
            ) { $0.text(3) ?? "" }
        }
        #expect(plan == ["SEARCH transfers USING INTEGER PRIMARY KEY (rowid=?)"])
    }
}
