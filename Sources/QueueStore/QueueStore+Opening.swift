internal import GRDB

extension QueueStore {
    /// Opens the file, migrates it, and gives the connections for reading and writing.
    static func open(_ path: String, _ migrations: [Migration]) throws(QueueStoreError) -> DatabasePool {
        try DatabaseFile.prepare(path)
        let result: Result<DatabasePool, QueueStoreError>
        do {
            // A pool writes when it opens: a later version's file, or another program's, is refused before.
            try DatabaseQueue(path: path, configuration: Self.configuration(cacheBytes: 1 << 20))
                .inDatabase { try migrations.run(Connection(database: $0, path: path, fault: nil)) }
            let pool = try DatabasePool(path: path, configuration: Self.configuration(cacheBytes: 2 << 20))
            // GRDB's NORMAL may lose the last commits when the power goes.
            try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            result = .success(pool)
        } catch let error as QueueStoreError {
            result = .failure(error)
        } catch {
            result = .failure(QueueStoreError(error, path: path))
        }
        return try result.get()
    }

    private static func configuration(cacheBytes: Int) -> Configuration {
        var configuration = Configuration()
        configuration.maximumReaderCount = 2
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(5)
        // A transaction that cannot be rolled back on a broken disk must not end the program; see ``Transaction``.
        configuration.allowsUnsafeTransactions = true
        configuration.label = "martlet.queue"
        configuration.prepareDatabase { database in
            try database.execute(
                sql: """
                    PRAGMA cache_size = -\(cacheBytes >> 10);
                    PRAGMA mmap_size = 0;
                    """
            )
            guard !database.configuration.readonly else { return }
            try database.execute(
                sql: """
                    PRAGMA wal_autocheckpoint = \(WriteAheadLog.pages);
                    PRAGMA journal_size_limit = \(WriteAheadLog.keptBytes);
                    """
            )
        }
        return configuration
    }
}
