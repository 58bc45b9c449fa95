internal import GRDB

extension QueueStore {
    /// Opens and migrates the file, and returns the connections for reading and writing.
    static func open(
        _ path: String,
        _ migrations: [Migration],
        _ log: WriteAheadLog,
        _ marker: StateMarker
    ) throws(QueueStoreError) -> DatabasePool {
        try marker.checkFile()
        try DatabaseFile.prepare(path)
        let result: Result<DatabasePool, QueueStoreError>
        do {
            // Opening a pool writes: files of a later version or of another program are refused before.
            try DatabaseQueue(path: path, configuration: Self.configuration(cacheBytes: 1 << 20))
                .inDatabase {
                    let connection = Connection(database: $0, path: path, fault: nil)
                    try marker.check(connection)
                    try migrations.run(connection)
                    Self.makeShrinkable(connection)
                }
            let pool = try DatabasePool(path: path, configuration: Self.configuration(cacheBytes: 2 << 20))
            // With GRDB's default, NORMAL, a power failure may lose the last commits.
            try pool.writeWithoutTransaction {
                try $0.execute(sql: "PRAGMA synchronous = FULL")
                log.observe($0)
                marker.advance(Connection(database: $0, path: path, fault: nil))
            }
            result = .success(pool)
        } catch let error as QueueStoreError {
            result = .failure(error)
        } catch {
            result = .failure(QueueStoreError(error, path: path))
        }
        return try result.get()
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

    private static func configuration(cacheBytes: Int) -> Configuration {
        var configuration = Configuration()
        configuration.maximumReaderCount = 2
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(5)
        // A transaction that cannot be rolled back on a broken disk must not trap; see ``Transaction``.
        configuration.allowsUnsafeTransactions = true
        configuration.label = "martlet.queue"
        configuration.prepareDatabase { database in
            try database.execute(
                sql: """
                    PRAGMA cache_size = -\(cacheBytes >> 10);
                    PRAGMA mmap_size = 0;
                    """
            )
            Connection(database: database, path: "", fault: nil).addHostFunction()
            guard !database.configuration.readonly else { return }
            try database.execute(
                sql: "PRAGMA journal_size_limit = \(WriteAheadLog.keptBytes)"
            )
        }
        return configuration
    }
}
