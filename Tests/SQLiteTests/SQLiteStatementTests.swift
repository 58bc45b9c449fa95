// SPDX-License-Identifier: Apache-2.0
import SQLite
import Testing
import TransferTesting

@Suite struct SQLiteStatementTests {
    @Test func aStatementIsPreparedOnce() throws {
        let connection = try SQLiteConnection(path: nil)
        try connection.execute("CREATE TABLE t (v INTEGER)")
        for value in 0..<100 { try connection.run("INSERT INTO t VALUES (?)", [value]) }
        #expect(connection.cachedStatements == 1)
        let first = try connection.statement("SELECT 1")
        first.finish()
        #expect(try connection.statement("SELECT 1") === first)
    }

    @Test func aStatementInUseIsNotShared() throws {
        let connection = try SQLiteConnection(path: nil)
        try connection.execute("CREATE TABLE t (v INTEGER); INSERT INTO t VALUES (1), (2), (3)")
        let outer = try connection.statement("SELECT v FROM t ORDER BY v")
        var found: [Int64?] = []
        while try outer.step() {
            found.append(outer.integer(0))
            #expect(try connection.integers("SELECT v FROM t ORDER BY v") == [1, 2, 3])
        }
        outer.finish()
        #expect(found == [1, 2, 3])
        #expect(connection.cachedStatements == 1)
    }

    @Test func parametersOfAnEarlierUseAreForgotten() throws {
        let connection = try SQLiteConnection(path: nil)
        try connection.execute("CREATE TABLE t (v)")
        try connection.run("INSERT INTO t VALUES (?)", ["secret"])
        let statement = try connection.statement("INSERT INTO t VALUES (?)")
        _ = try statement.step()
        statement.finish()
        #expect(try connection.integers("SELECT count(*) FROM t WHERE v IS NULL") == [1])
    }

    @Test("A statement that is restarted forgets the earlier parameters and an earlier error")
    func restart() throws {
        let connection = try SQLiteConnection(path: nil)
        try connection.execute("CREATE TABLE t (a INTEGER UNIQUE, b REAL, c TEXT)")
        let statement = try connection.statement("INSERT INTO t VALUES (?, ?, ?)")
        func insert(_ a: Int64?, _ b: Double?, _ c: String?) throws(SQLiteError) {
            try statement.restart { values in
                values.add(a)
                values.add(b)
                values.add(c)
            }
            _ = try statement.step()
        }
        try insert(1, 1.5, "a text that is longer than fifteen bytes")
        #expect(throws: SQLiteError.self) { try insert(1, 2, "b") }
        try insert(2, nil, nil)
        try insert(nil, 3, "\0d")
        #expect(throws: SQLiteError.self) { try statement.restart { $0.add(Int64(3)) } }
        statement.finish()
        #expect(try connection.integers("SELECT a FROM t ORDER BY rowid") == [1, 2, nil])
        #expect(try connection.integers("SELECT a FROM t WHERE b IS NULL AND c IS NULL") == [2])
        #expect(try connection.integers("SELECT length(CAST(c AS BLOB)) FROM t ORDER BY rowid") == [40, nil, 2])
    }

    @Test func textsThatAreMadeUpEachTimeDoNotAddUp() throws {
        let connection = try SQLiteConnection(path: nil)
        let kept = try connection.statement("SELECT 'kept'")
        for value in 0..<1000 { #expect(try connection.integers("SELECT \(value)") == [Int64(value)]) }
        #expect(connection.cachedStatements <= 256)
        #expect(try kept.step() && kept.text(0) == "kept")
    }

    @Test(arguments: [false, true])
    func aCachedStatementFollowsTheSchema(isByAnother: Bool) throws {
        let directory = try TemporaryDirectory()
        let connection = try SQLiteConnection(path: directory.path("a.db"))
        let changer = isByAnother ? try SQLiteConnection(path: directory.path("a.db")) : connection
        try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (v); INSERT INTO t VALUES (1)")
        let sql = "SELECT * FROM t"
        #expect(try connection.integers(sql) == [1])
        try changer.execute("ALTER TABLE t ADD COLUMN w DEFAULT 7")
        let statement = try connection.statement(sql)
        #expect(try statement.step())
        #expect(statement.integer(0) == 1 && statement.integer(1) == 7)
        statement.finish()
        try changer.execute("DROP TABLE t")
        #expect(kind { () throws(SQLiteError) in _ = try connection.integers(sql) } == .other)
        try changer.execute("CREATE TABLE t (v); INSERT INTO t VALUES (5)")
        #expect(try connection.integers(sql) == [5])
    }

    @Test func aStatementThatFailedMayBeUsedAgain() throws {
        let connection = try SQLiteConnection(path: nil)
        try connection.execute("CREATE TABLE t (v INTEGER PRIMARY KEY, w UNIQUE)")
        let sql = "INSERT INTO t VALUES (?, ?)"
        try connection.run(sql, [1, "a"])
        #expect(kind { () throws(SQLiteError) in try connection.run(sql, [1, "b"]) } == .duplicate)
        #expect(kind { () throws(SQLiteError) in try connection.run(sql, [2, "a"]) } == .duplicate)
        try connection.run(sql, [2, "b"])
        #expect(connection.changes == 1 && connection.lastInsertedRow == 2)
    }

    @Test(arguments: ["", "  ", "SELEC 1", "SELECT 1; SELECT 2", "SELECT * FROM missing", "SELECT \"text\""])
    func whatIsNotOneStatementIsAnErrorThatNamesIt(sql: String) throws {
        let connection = try SQLiteConnection(path: nil)
        do throws(SQLiteError) {
            _ = try connection.statement(sql)
            Issue.record("'\(sql)' was prepared")
        } catch {
            #expect(error.kind == .other && error.sql == sql)
        }
        #expect(connection.cachedStatements == 0)
    }

    @Test(arguments: [0, 1, 3])
    func aWrongNumberOfParametersIsAnError(count: Int) throws {
        let connection = try SQLiteConnection(path: nil)
        let statement = try connection.statement("SELECT ?, ?")
        let arguments = [(any Bindable)?](repeating: 1, count: count)
        #expect(kind { () throws(SQLiteError) in try statement.bind(arguments) } == .other)
    }

    @Test func aFunctionGetsTextsAndNilForOtherTypes() throws {
        let connection = try SQLiteConnection(path: nil)
        try connection.addFunction("length_of") { $0.map { Int64($0.utf8.count) } ?? -1 }
        let sql = """
            SELECT length_of(v) FROM (SELECT 'abc' AS v UNION ALL SELECT '' UNION ALL SELECT NULL UNION ALL SELECT 1)
            """
        #expect(try connection.integers(sql) == [3, 0, -1, -1])
        #expect(kind { () throws(SQLiteError) in _ = try connection.statement("SELECT length_of()") } == .other)
    }
}
