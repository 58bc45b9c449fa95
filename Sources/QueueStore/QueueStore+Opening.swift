// SPDX-License-Identifier: Apache-2.0
internal import SQLite

extension QueueStore {
    /// Opens and migrates the file, and returns the connection for writing.
    static func open(
        _ path: String,
        _ migrations: [Migration],
        _ log: WriteAheadLog,
        _ marker: StateMarker
    ) throws(QueueStoreError) -> SQLiteConnection {
        try marker.checkFile()
        try DatabaseFile.prepare(path)
        let connection = try Self.connect(path, .readWrite, busyMilliseconds: 5000)
        // A power failure must not lose a commit: NORMAL does not sync the log.
        try connection.run("PRAGMA synchronous = FULL")
        try connection.run("PRAGMA journal_size_limit = \(WriteAheadLog.keptBytes)")
        try connection.addHostFunction()
        // Nothing is written before this: files of a later version or of another program are refused.
        try marker.check(connection)
        try migrations.run(connection)
        Self.makeShrinkable(connection)
        // Stored in the file; this is its first commit in the log, so that readers find one.
        guard try connection.first("PRAGMA journal_mode = WAL", [], { $0.text(0) }) == "wal" else {
            throw QueueStoreError(
                .inputOutput,
                "the database '\(path)' cannot have a write-ahead log; its file system must have locks and shared memory"
            )
        }
        log.observe(connection.sqlite)
        marker.advance(connection)
        return connection.sqlite
    }

    /// Opens a connection for reading.
    ///
    /// It waits longer than the writing one for another process that restores the log after a kill, or closes the
    /// database.
    static func openReader(_ path: String) throws(QueueStoreError) -> SQLiteConnection {
        try Self.connect(path, .readOnly, busyMilliseconds: 10_000).sqlite
    }

    private static func connect(
        _ path: String,
        _ access: SQLiteConnection.Access,
        busyMilliseconds: Int32
    ) throws(QueueStoreError) -> Connection {
        let sqlite: SQLiteConnection
        do throws(SQLiteError) {
            sqlite = try SQLiteConnection(
                path: path,
                access: access,
                isShared: false,
                busyMilliseconds: busyMilliseconds
            )
        } catch { throw QueueStoreError(error, path: path) }
        let connection = Connection(sqlite: sqlite, path: path, fault: nil)
        try connection.run("PRAGMA cache_size = -\(Self.cacheBytes >> 10)")
        // A mapped file that is cut, or a disk that fails, would be a signal instead of an error.
        try connection.run("PRAGMA mmap_size = 0")
        return connection
    }

    /// Enables incremental vacuum in a file of an earlier version, if its content is small enough to be copied.
    private static func makeShrinkable(_ connection: Connection) {
        guard (try? connection.integer("PRAGMA auto_vacuum")) == 0,
            let pages = try? connection.integer("PRAGMA page_count"),
            let free = try? connection.integer("PRAGMA freelist_count"), pages - free <= Self.copiedPages
        else { return }
        // This is tried at each start: later there may be more free space, or fewer transfers.
        try? connection.run("PRAGMA auto_vacuum = INCREMENTAL")
        try? connection.run("VACUUM")
    }

    /// The maximum number of pages to copy: 16 MiB.
    private static let copiedPages: Int64 = 4096

    /// The maximum size of each connection's page cache.
    private static let cacheBytes = 2 << 20
}
