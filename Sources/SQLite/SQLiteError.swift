// SPDX-License-Identifier: Apache-2.0
internal import CSQLite

/// An error that SQLite reported.
///
/// - Source: SQLite, "Result and Error Codes".
package struct SQLiteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors that callers distinguish.
    package enum Kind: Sendable, Hashable {
        /// The disk, or the database's maximum number of pages, is exhausted.
        case full
        /// The operating system failed to read, write, sync or lock; see ``SQLiteError/systemNumber``.
        case inputOutput
        /// The file is not a database, or its content is malformed.
        case damaged
        /// Another connection has a lock, and the busy timeout has passed.
        case busy
        /// The file cannot be opened, or only for reading.
        case inaccessible
        /// A unique index or primary key has the value already.
        case duplicate
        /// The connection was closed.
        case closed
        /// Anything else: wrong SQL, a value that is too long, no memory.
        case other
    }

    /// The extended result code.
    package let code: Int32
    /// SQLite's description of the error.
    package let message: String
    /// `errno` of the failed system call, or 0.
    package let systemNumber: Int32
    /// The statement that failed, if it was one.
    package let sql: String?

    package var kind: Kind {
        switch self.code & 0xFF {
        case SQLITE_CONSTRAINT where Self.duplicateCodes.contains(self.code): .duplicate
        case SQLITE_FULL: .full
        case SQLITE_IOERR: .inputOutput
        case SQLITE_NOTADB, SQLITE_CORRUPT: .damaged
        // PROTOCOL: others kept changing the locks while this connection tried to start reading.
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .busy
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_READONLY, SQLITE_AUTH: .inaccessible
        case SQLITE_MISUSE where self.code == Self.closedCode: .closed
        default: .other
        }
    }

    /// The message with the code and the statement.
    package var description: String {
        let cause = self.systemNumber == 0 ? "" : ", errno \(self.systemNumber)"
        return "SQLite error \(self.code): \(self.message)\(cause)" + (self.sql.map { " in \"\($0)\"" } ?? "")
    }

    init(code: Int32, message: String? = nil, systemNumber: Int32 = 0, sql: String? = nil) {
        self.code = code
        self.message = message ?? String(cString: sqlite3_errstr(code))
        self.systemNumber = systemNumber
        self.sql = sql
    }

    /// Describes the connection's last error, which had this code.
    init(_ code: Int32, of connection: OpaquePointer?, sql: String? = nil) {
        guard let connection else {
            self.init(code: code, sql: sql)
            return
        }
        // Another error's message would be misleading.
        let isLast = sqlite3_errcode(connection) & 0xFF == code & 0xFF
        let isOfTheSystem = code & 0xFF == SQLITE_IOERR || code & 0xFF == SQLITE_CANTOPEN
        self.init(
            code: code,
            message: isLast ? String(cString: sqlite3_errmsg(connection)) : nil,
            systemNumber: isOfTheSystem ? sqlite3_system_errno(connection) : 0,
            sql: sql
        )
    }

    // SQLITE_CONSTRAINT_UNIQUE and SQLITE_CONSTRAINT_PRIMARYKEY, macros that Swift does not import.
    private static let duplicateCodes = [SQLITE_CONSTRAINT | 8 << 8, SQLITE_CONSTRAINT | 6 << 8]
    // Not one of SQLite's: its own misuse is a defect here, and not a closed connection.
    private static let closedCode = SQLITE_MISUSE | 0x4D << 8

    static let closed = SQLiteError(code: Self.closedCode, message: "the connection is closed")
}
