// SPDX-License-Identifier: Apache-2.0
import Platform
import SQLite
import Testing
import TransferTesting

/// A lock of part of a file, as of another process.
private final class ForeignLock {
    private let file: Int32
    private let start: off_t
    private let count: off_t

    init(_ path: String, start: off_t, count: off_t) throws {
        self.file = open(path, O_RDWR | O_CLOEXEC)
        (self.start, self.count) = (start, count)
        try #require(self.file >= 0 && self.set(F_WRLCK))
    }

    private func set(_ type: Int32) -> Bool {
        var lock = flock()
        lock.l_type = Int16(type)
        lock.l_whence = Int16(SEEK_SET)
        (lock.l_start, lock.l_len) = (self.start, self.count)
        // A lock of an open file description, F_OFD_SETLK, is in the way of the process's own locks.
        return fcntl(self.file, 37, &lock) == 0
    }

    func release() { _ = self.set(F_UNLCK) }

    deinit { close(self.file) }
}

@Suite struct SQLiteFileTests {
    /// A database with a write-ahead log and a row.
    private func make(_ path: String) throws -> SQLiteConnection {
        let connection = try SQLiteConnection(path: path, busyMilliseconds: 50)
        try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (v); INSERT INTO t VALUES (1)")
        return connection
    }

    // MARK: Opening

    @Test(arguments: ["", "missing/a.db", "file:/tmp/a.db"])
    func aNameIsThatOfAFileOrAnError(path: String) {
        #expect(kind { () throws(SQLiteError) in _ = try SQLiteConnection(path: path) } == .inaccessible)
    }

    @Test func aNameMustNotHaveANUL() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("a\u{0}b")
        #expect(kind { () throws(SQLiteError) in _ = try SQLiteConnection(path: path) } == .inaccessible)
        #expect(directory.entries() == [])
    }

    @Test func aReaderNeedsTheFileAndFindsItLater() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("a.db")
        let open = { () throws(SQLiteError) in _ = try SQLiteConnection(path: path, access: .readOnly) }
        #expect(kind(open) == .inaccessible)
        #expect(directory.entries() == [])
        let writer = try self.make(path)
        #expect(kind(open) == nil)
        writer.close()
    }

    @Test func aReaderMustNotWrite() throws {
        let directory = try TemporaryDirectory()
        let writer = try self.make(directory.path("a.db"))
        let reader = try SQLiteConnection(path: writer.path, access: .readOnly)
        #expect(try reader.integers("SELECT v FROM t") == [1])
        #expect(kind { () throws(SQLiteError) in try reader.execute("DELETE FROM t") } == .inaccessible)
        reader.close()
        writer.close()
        #expect(directory.entries() == ["a.db"])
    }

    @Test func aReaderOpensBeforeTheFirstWrite() throws {
        let directory = try TemporaryDirectory()
        try self.make(directory.path("a.db")).close()
        let writer = try SQLiteConnection(path: directory.path("a.db"))
        #expect(try writer.integers("SELECT v FROM t") == [1])
        let reader = try SQLiteConnection(path: writer.path, access: .readOnly)
        #expect(try reader.integers("SELECT v FROM t") == [1])
    }

    @Test func filesThatAKillLeftAreRestored() throws {
        let directory = try TemporaryDirectory()
        let writer = try self.make(directory.path("a.db"))
        for suffix in ["", "-wal"] { try directory.write(try directory.read("a.db" + suffix), to: "b.db" + suffix) }
        let reader = try SQLiteConnection(path: directory.path("b.db"), access: .readOnly)
        #expect(try reader.integers("SELECT v FROM t") == [1])
        writer.close()
    }

    // MARK: Damage

    @Test(arguments: [100, 4096, 6000])
    func aFileThatIsNoDatabaseIsDamaged(count: Int) throws {
        let directory = try TemporaryDirectory()
        try directory.write(Array(repeating: 0x41, count: count), to: "a.db")
        let connection = try SQLiteConnection(path: directory.path("a.db"))
        #expect(kind { () throws(SQLiteError) in _ = try connection.integers("PRAGMA user_version") } == .damaged)
        connection.close()
        #expect(try directory.read("a.db").count == count)
    }

    @Test func aPageOfGarbageIsDamaged() throws {
        let directory = try TemporaryDirectory()
        let connection = try SQLiteConnection(path: directory.path("a.db"))
        try connection.execute("CREATE TABLE t (v)")
        for _ in 0..<100 { try connection.run("INSERT INTO t VALUES (?)", [String(repeating: "x", count: 1000)]) }
        connection.close()
        var bytes = try directory.read("a.db")
        for index in 4096..<bytes.count { bytes[index] = 0xA5 }
        try directory.write(bytes, to: "a.db")
        let again = try SQLiteConnection(path: directory.path("a.db"))
        #expect(kind { () throws(SQLiteError) in _ = try again.integers("SELECT length(v) FROM t") } == .damaged)
        #expect(kind { () throws(SQLiteError) in try again.run("INSERT INTO t VALUES (1)") } == .damaged)
    }

    // MARK: Locks

    #if os(Linux)
    @Test func aLockOfAnotherProcessIsWaitedForAndThenAnError() throws {
        let directory = try TemporaryDirectory()
        let writer = try self.make(directory.path("a.db"))
        // The log's writing lock; see SQLite, "WAL-mode File Format".
        let lock = try ForeignLock(directory.path("a.db-shm"), start: 120, count: 1)
        let start = ContinuousClock.now
        #expect(kind { () throws(SQLiteError) in try writer.execute("BEGIN IMMEDIATE") } == .busy)
        #expect(ContinuousClock.now - start >= .milliseconds(50))
        #expect(!writer.isInTransaction)
        #expect(try writer.integers("SELECT v FROM t") == [1])
        lock.release()
        try writer.run("INSERT INTO t VALUES (2)")
        #expect(try writer.integers("SELECT v FROM t") == [1, 2])
        writer.close()
    }

    @Test func anOpeningThatMeetsALockMayBeRepeated() throws {
        let directory = try TemporaryDirectory()
        try self.make(directory.path("a.db")).close()
        // The range of the shared locks, as of a process with `locking_mode = EXCLUSIVE`.
        let lock = try ForeignLock(directory.path("a.db"), start: 0x4000_0002, count: 510)
        let connection = try SQLiteConnection(path: directory.path("a.db"), busyMilliseconds: 0)
        #expect(kind { () throws(SQLiteError) in _ = try connection.integers("SELECT v FROM t") } == .busy)
        lock.release()
        #expect(try connection.integers("SELECT v FROM t") == [1])
        connection.close()
    }
    #endif

    @Test func aReaderSeesOneStateWhileWritesCommit() throws {
        let directory = try TemporaryDirectory()
        let writer = try self.make(directory.path("a.db"))
        let reader = try SQLiteConnection(path: writer.path, access: .readOnly)
        try reader.execute("BEGIN DEFERRED")
        #expect(try reader.integers("SELECT v FROM t") == [1])
        for value in 2...50 { try writer.run("INSERT INTO t VALUES (?)", [value]) }
        #expect(try reader.integers("SELECT v FROM t") == [1])
        try reader.execute("COMMIT")
        #expect(try reader.integers("SELECT count(*) FROM t") == [50])
    }

    // MARK: Writing

    @Test func aFullDatabaseIsAnErrorThatEndsTheTransaction() throws {
        let directory = try TemporaryDirectory()
        let writer = try self.make(directory.path("a.db"))
        #expect(try writer.integers("PRAGMA max_page_count = 10") == [10])
        try writer.execute("BEGIN IMMEDIATE")
        try writer.run("INSERT INTO t VALUES (2)")
        let text = String(repeating: "x", count: 100_000)
        #expect(kind { () throws(SQLiteError) in try writer.run("INSERT INTO t VALUES (?)", [text]) } == .full)
        if writer.isInTransaction { try writer.execute("ROLLBACK") }
        #expect(try writer.integers("SELECT v FROM t") == [1])
        #expect(try writer.integers("PRAGMA max_page_count = 1000") == [1000])
        try writer.run("INSERT INTO t VALUES (?)", [text])
        #expect(try writer.integers("SELECT count(*) FROM t") == [2])
    }

    @Test func theLogGrowsUntilACheckpointAndCommitsAreCounted() throws {
        let directory = try TemporaryDirectory()
        let writer = try self.make(directory.path("a.db"))
        var pages: [Int] = []
        writer.onCommit { pages.append($0) }
        let text = String(repeating: "x", count: 40_000)
        for _ in 0..<200 { try writer.run("INSERT INTO t VALUES (?)", [text]) }
        // SQLite alone would have checkpointed, and started at the log's beginning, at 1000 pages.
        #expect(pages.count == 200 && pages == pages.sorted() && (pages.last ?? 0) > 2000)
        let reader = try SQLiteConnection(path: writer.path, access: .readOnly)
        try reader.execute("BEGIN; SELECT * FROM t")
        #expect(kind { () throws(SQLiteError) in try writer.checkpoint(.truncate) } == .busy)
        #expect(kind { () throws(SQLiteError) in try writer.checkpoint(.passive) } == nil)
        try reader.execute("COMMIT")
        try writer.checkpoint(.truncate)
        #expect(try directory.read("a.db-wal") == [])
    }

    // MARK: Closing

    @Test func aClosedConnectionIsAnError() throws {
        let connection = try SQLiteConnection(path: nil)
        let statement = try connection.statement("SELECT 1 UNION ALL SELECT 2")
        #expect(try statement.step())
        connection.close()
        connection.close()
        // A statement in use keeps SQLite's connection.
        #expect(try statement.step())
        #expect(statement.integer(0) == 2)
        statement.finish()
        #expect(kind { () throws(SQLiteError) in try connection.execute("SELECT 1") } == .closed)
        #expect(kind { () throws(SQLiteError) in _ = try connection.statement("SELECT 1") } == .closed)
        #expect(kind { () throws(SQLiteError) in try connection.checkpoint(.passive) } == .closed)
        #expect(kind { () throws(SQLiteError) in try connection.addFunction("f") { _ in 0 } } == .closed)
        connection.onCommit { _ in }
        #expect(!connection.isInTransaction && connection.changes == 0 && connection.lastInsertedRow == 0)
    }
}
