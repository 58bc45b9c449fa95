// SPDX-License-Identifier: Apache-2.0
internal import CSQLite

/// A connection to an SQLite database.
///
/// May be used by any thread, but only by one at a time: it is opened with `SQLITE_OPEN_NOMUTEX`.
///
/// - Source: SQLite, "Using SQLite In Multi-Threaded Applications".
package final class SQLiteConnection {
    /// The operations that a connection permits.
    package enum Access: Sendable, Hashable {
        /// Read and write; a missing file is created.
        case readWrite
        /// Read; the file must be there.
        case readOnly
    }

    /// The ways of copying the write-ahead log into the database.
    package enum Checkpoint: Sendable, Hashable {
        /// As much as is possible without waiting for readers or a writer.
        case passive
        /// Everything, after waiting for readers, and the log's file is emptied.
        case truncate
    }

    /// The path of the database.
    package let path: String
    /// SQLite's connection; `nil` when it is closed.
    private var handle: OpaquePointer?
    private var cache = StatementCache()
    /// Called after commits; retained for SQLite.
    private var commitHook: CommitHook?

    private final class CommitHook {
        let body: (_ pages: Int) -> Void
        init(_ body: @escaping (Int) -> Void) { self.body = body }
    }

    /// Opens a database.
    ///
    /// The file is read only by the first statement, which is when a damaged one is found.
    ///
    /// - Parameters:
    ///   - path: The file's path, or `nil` for a database in memory.
    ///   - access: The permitted operations.
    ///   - isShared: Whether other processes may use the database at the same time. Then SQLite maps the index of the
    ///     write-ahead log, and the process ends by SIGBUS if another program truncates that file.
    ///   - busyMilliseconds: How long statements wait for another connection's lock.
    /// - Throws: ``SQLiteError``, usually of the kind `inaccessible`.
    package init(
        path: String?,
        access: Access = .readWrite,
        isShared: Bool = true,
        busyMilliseconds: Int32 = 5000
    ) throws(SQLiteError) {
        self.path = path ?? ":memory:"
        guard !self.path.utf8.contains(0) else {
            throw SQLiteError(code: SQLITE_CANTOPEN, message: "the path contains a NUL")
        }
        guard sqlite3_threadsafe() != 0 else {
            throw SQLiteError(code: SQLITE_ERROR, message: "SQLite was built without support for threads")
        }
        // A path is a file's name whatever it looks like: SQLite knows URIs, ":memory:", and "" for a temporary file.
        let name = path.map { $0.hasPrefix("/") ? $0 : "./" + $0 } ?? ":memory:"
        let flags = access == .readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        // With `unix-excl`, the index of the write-ahead log is in the memory of the process, not in a mapped `-shm` file.
        let system = isShared || path == nil ? nil : "unix-excl"
        let code = sqlite3_open_v2(name, &self.handle, flags | SQLITE_OPEN_NOMUTEX, system)
        guard code == SQLITE_OK, let handle else {
            let error = SQLiteError(code, of: self.handle)
            // There is a connection also after an error, unless there was no memory for it.
            self.close()
            throw error
        }
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, busyMilliseconds)
        martlet_sqlite3_restrict(handle)
    }

    deinit { self.close() }

    /// Closes the connection; later calls throw `closed`.
    ///
    /// The last connection of all processes copies the write-ahead log into the database and deletes it.
    package func close() {
        self.cache.removeAll()
        // The connection stays until the statements in use are finalised.
        sqlite3_close_v2(self.handle)
        self.handle = nil
        self.commitHook = nil
    }

    // MARK: Statements

    /// Returns a statement, prepared now or earlier; call ``SQLiteStatement/finish()`` when you are done with it.
    ///
    /// The statement is used by one caller at a time: another one is prepared if it is in use.
    ///
    /// - Parameter sql: One statement.
    /// - Returns: The statement, before its first row and without parameters.
    /// - Throws: ``SQLiteError``, of the kind `other` if it is not valid SQL or not one statement.
    package func statement(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        if let statement = self.cache.take(sql) { return statement }
        let statement = try self.prepare(sql)
        self.cache.add(statement)
        return statement
    }

    private func prepare(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        guard let handle = self.handle else { throw .closed }
        var prepared: OpaquePointer?
        var code = SQLITE_OK
        var isWhole = true
        var text = sql
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { bytes in
                var rest: UnsafePointer<CChar>?
                code = sqlite3_prepare_v3(
                    handle,
                    bytes.baseAddress,
                    Int32(clamping: bytes.count),
                    UInt32(SQLITE_PREPARE_PERSISTENT),
                    &prepared,
                    &rest
                )
                guard let base = bytes.baseAddress, let rest else { return }
                // Bounds: SQLite sets `rest` to a byte of the text or to its end.
                isWhole = bytes[(rest - base)...].allSatisfy { $0 == 0x20 || $0 == 0x0A || $0 == 0x3B }
            }
        }
        guard code == SQLITE_OK else { throw SQLiteError(code, of: handle, sql: sql) }
        guard let prepared else { throw SQLiteError(code: SQLITE_ERROR, message: "no statement", sql: sql) }
        let statement = SQLiteStatement(prepared, sql: sql)
        guard isWhole else { throw SQLiteError(code: SQLITE_ERROR, message: "several statements", sql: sql) }
        return statement
    }

    /// Runs statements that are separated by semicolons, without keeping them prepared.
    package func execute(_ sql: String) throws(SQLiteError) {
        guard let handle = self.handle else { throw .closed }
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteError(code, of: handle, sql: sql) }
    }

    /// The number of prepared statements that are kept.
    package var cachedStatements: Int { self.cache.count }

    // MARK: State

    /// Whether a transaction was begun and neither committed nor rolled back.
    ///
    /// SQLite itself rolls back after some errors: a full disk, input and output, no memory.
    package var isInTransaction: Bool { self.handle.map { sqlite3_get_autocommit($0) == 0 } ?? false }

    package var lastInsertedRow: Int64 { self.handle.map { sqlite3_last_insert_rowid($0) } ?? 0 }

    /// The number of rows that the last statement inserted, changed or deleted.
    package var changes: Int { self.handle.map { Int(sqlite3_changes($0)) } ?? 0 }

    // MARK: The write-ahead log

    /// Calls `body` after each commit with the number of the log's pages; automatic checkpoints are off from then on.
    package func onCommit(_ body: @escaping (_ pages: Int) -> Void) {
        guard let handle = self.handle else { return }
        let hook = CommitHook(body)
        sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                if let context { Unmanaged<CommitHook>.fromOpaque(context).takeUnretainedValue().body(Int(pages)) }
                return SQLITE_OK
            },
            Unmanaged.passUnretained(hook).toOpaque()
        )
        self.commitHook = hook
    }

    /// Copies the log into the database.
    ///
    /// - Throws: `busy` if `truncate` had to wait for readers longer than the busy timeout.
    package func checkpoint(_ kind: Checkpoint) throws(SQLiteError) {
        guard let handle = self.handle else { throw .closed }
        let mode = kind == .truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        let code = sqlite3_wal_checkpoint_v2(handle, "main", mode, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteError(code, of: handle) }
    }

    // MARK: Functions

    private final class Function {
        let body: (String?) -> Int64
        init(_ body: @escaping (String?) -> Int64) { self.body = body }
    }

    /// Adds an SQL function from a text, `nil` for NULL and other types, to an integer.
    ///
    /// - Parameters:
    ///   - name: The function's name in SQL.
    ///   - body: The function; equal arguments must have equal results.
    /// - Throws: ``SQLiteError`` of the kind `closed`.
    package func addFunction(_ name: String, _ body: @escaping (String?) -> Int64) throws(SQLiteError) {
        guard let handle = self.handle else { throw .closed }
        let code = sqlite3_create_function_v2(
            handle,
            name,
            1,
            SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
            Unmanaged.passRetained(Function(body)).toOpaque(),
            { context, _, arguments in
                guard let user = sqlite3_user_data(context) else { return }
                var text: String?
                if let value = arguments?[0], sqlite3_value_type(value) == SQLITE_TEXT,
                    let bytes = sqlite3_value_text(value)
                {
                    let count = Int(sqlite3_value_bytes(value))
                    text = String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
                }
                sqlite3_result_int64(context, Unmanaged<Function>.fromOpaque(user).takeUnretainedValue().body(text))
            },
            nil,
            nil,
            // Also called when the function cannot be added.
            { user in if let user { Unmanaged<Function>.fromOpaque(user).release() } }
        )
        guard code == SQLITE_OK else { throw SQLiteError(code, of: handle) }
    }
}
