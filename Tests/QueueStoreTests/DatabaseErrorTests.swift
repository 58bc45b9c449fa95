// SPDX-License-Identifier: Apache-2.0
import SQLite
import Testing
import TransferTesting

@testable import QueueStore

/// Which of the queue's errors SQLite's errors become.
@Suite struct DatabaseErrorTests {
    private let directory: TemporaryDirectory
    private let sqlite: SQLiteConnection
    private let connection: Connection

    init() throws {
        self.directory = try TemporaryDirectory()
        self.sqlite = try SQLiteConnection(path: self.directory.path("a.db"), busyMilliseconds: 0)
        try self.sqlite.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (v UNIQUE)")
        self.connection = Connection(sqlite: self.sqlite, path: "/the/path", fault: Connection.Fault())
    }

    private func expect(_ code: QueueStoreError.Code, _ sql: String, _ arguments: Connection.Arguments = []) {
        do throws(QueueStoreError) {
            try self.connection.run(sql, arguments)
            Issue.record("'\(sql)' succeeded")
        } catch {
            #expect(error.code == code)
            #expect(error.message.contains("'/the/path'"))
        }
        // Later statements of the same work fail as well.
        #expect(throws: QueueStoreError.self) { try self.connection.run("SELECT 1") }
    }

    @Test func aLockIsBusy() throws {
        let other = try SQLiteConnection(path: self.sqlite.path, busyMilliseconds: 0)
        try other.execute("BEGIN IMMEDIATE")
        self.expect(.busy, "INSERT INTO t VALUES (1)")
    }

    @Test func tooManyPagesAreAFullDisk() throws {
        try self.sqlite.execute("PRAGMA max_page_count = 5")
        self.expect(.full, "INSERT INTO t VALUES (?)", [String(repeating: "x", count: 100_000)])
    }

    @Test func garbageIsDamage() throws {
        try self.directory.write(Array(repeating: 0x41, count: 8192), to: "b.db")
        let sqlite = try SQLiteConnection(path: self.directory.path("b.db"))
        let connection = Connection(sqlite: sqlite, path: "/the/path", fault: nil)
        do throws(QueueStoreError) {
            _ = try connection.integer("PRAGMA user_version")
            Issue.record("garbage was read")
        } catch { #expect(error.code == .damaged && error.message.contains("aside")) }
    }

    @Test func aClosedConnectionIsClosed() {
        self.sqlite.close()
        self.expect(.closed, "INSERT INTO t VALUES (1)")
    }

    @Test func wrongSQLIsAFailureThatSaysWhy() {
        self.expect(.inputOutput, "INSERT INTO missing VALUES (1)")
        #expect(self.connection.fault?.error?.message.contains("no such table: missing") == true)
    }

    @Test func aViolatedIndexIsNoFault() throws {
        let insertion = try self.connection.repeated("INSERT INTO t VALUES (?)")
        #expect(try insertion.insert { $0.add(Int64(1)) })
        #expect(try !insertion.insert { $0.add(Int64(1)) })
        #expect(try insertion.insert { $0.add(Int64(2)) })
        #expect(self.connection.fault?.error == nil)
    }

    @Test func aScriptThatFailsIsUndone() throws {
        #expect(throws: QueueStoreError.self) {
            try self.connection.transaction("INSERT INTO t VALUES (1); INSERT INTO t VALUES (1)")
        }
        #expect(!self.connection.isInTransaction)
        let again = Connection(sqlite: self.sqlite, path: "", fault: nil)
        #expect(try again.integer("SELECT count(*) FROM t") == 0)
    }
}
