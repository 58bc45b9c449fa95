// SPDX-License-Identifier: Apache-2.0
import SQLite
import Testing

@Suite struct SQLiteValueTests {
    /// Stores a value and returns the statement that stands at it.
    private func stored(_ value: (any Bindable)?, _ connection: SQLiteConnection) throws -> SQLiteStatement {
        try connection.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (v)")
        try connection.run("INSERT INTO t VALUES (?)", [value])
        let statement = try connection.statement("SELECT v FROM t")
        #expect(try statement.step())
        return statement
    }

    @Test(arguments: [0, 1, -1, .max, .min, 1 << 53 + 1] as [Int64])
    func integersKeepAllBits(value: Int64) throws {
        let row = try self.stored(value, SQLiteConnection(path: nil))
        #expect(row.integer(0) == value && row.text(0) == nil && row.blob(0) == nil)
    }

    @Test(arguments: [0.1, -0.0, .infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude])
    func numbersKeepAllBits(value: Double) throws {
        let row = try self.stored(value, SQLiteConnection(path: nil))
        #expect(row.real(0)?.bitPattern == value.bitPattern || value == 0)
        #expect(row.integer(0) == nil)
    }

    @Test func aNumberThatIsNoneIsNull() throws {
        let row = try self.stored(Double.nan, SQLiteConnection(path: nil))
        #expect(row.real(0) == nil && row.integer(0) == nil)
    }

    @Test(arguments: ["", "a", "\u{0}", "a\u{0}b", "\u{1F426} f\u{FC}r", String(repeating: "x", count: 100_000)])
    func textsKeepAllBytes(value: String) throws {
        let connection = try SQLiteConnection(path: nil)
        let row = try self.stored(value, connection)
        #expect(row.text(0) == value && row.integer(0) == nil && row.blob(0) == nil)
        var bytes: [UInt8] = []
        #expect(row.withText(0) { bytes = Array($0) })
        #expect(bytes == Array(value.utf8))
    }

    @Test(arguments: [[], [0], Array(0...255)] as [[UInt8]])
    func blobsKeepAllBytesAndAnEmptyOneIsNotNull(value: [UInt8]) throws {
        let row = try self.stored(value, SQLiteConnection(path: nil))
        #expect(row.blob(0) == value && row.text(0) == nil)
        #expect(!row.withText(0) { _ in })
    }

    @Test func nullIsOfNoType() throws {
        let row = try self.stored(nil, SQLiteConnection(path: nil))
        #expect(row.integer(0) == nil && row.real(0) == nil && row.text(0) == nil && row.blob(0) == nil)
    }

    @Test func aTruthValueIsAnInteger() throws {
        let connection = try SQLiteConnection(path: nil)
        try connection.execute("CREATE TABLE t (v)")
        for value in [true, false] { try connection.run("INSERT INTO t VALUES (?)", [value]) }
        #expect(try connection.integers("SELECT v FROM t ORDER BY rowid") == [1, 0])
    }

    @Test func textThatIsNotUTF8IsReplaced() throws {
        let connection = try SQLiteConnection(path: nil)
        let statement = try connection.statement("SELECT CAST(x'41ff42' AS TEXT)")
        #expect(try statement.step())
        #expect(statement.text(0) == "A\u{FFFD}B")
    }

    @Test func aColumnThatDoesNotExistIsNull() throws {
        let row = try self.stored(1, SQLiteConnection(path: nil))
        #expect(row.integer(7) == nil && row.text(-1) == nil)
    }
}
