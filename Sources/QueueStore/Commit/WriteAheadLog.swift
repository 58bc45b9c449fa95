internal import GRDB
#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

internal import GRDBSQLite
internal import Synchronization

/// Checkpoints the write-ahead log, and keeps it from growing where readers follow one another without a pause.
final class WriteAheadLog: Sendable {
    /// Pages after which the log is written back: 16 MiB.
    static let pages = 4096
    /// Pages after which it is written back between steps in the background, for which others wait: 4 MiB.
    static let fewPages = 1024
    /// The file's size that is left after a checkpoint.
    static let keptBytes = 16 << 20

    /// The database.
    let path: String
    /// The size from which readers are waited for.
    private let limit: Int
    /// The log's pages after the last commit.
    private let count = Atomic(0)
    /// Its pages when it was written back last.
    private let checked = Atomic(0)

    init(path: String, limit: Int = 64 << 20) {
        self.path = path
        self.limit = limit
    }

    /// Counts the pages of a connection's commits, in place of SQLite's own checkpoints.
    ///
    /// The connection must not be used any more when this is gone.
    func observe(_ database: Database) {
        sqlite3_wal_hook(
            database.sqliteConnection,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                Unmanaged<WriteAheadLog>.fromOpaque(context).takeUnretainedValue()
                    .count.store(Int(pages), ordering: .relaxed)
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// Writes back the log where it is long; waits for those who read now only where it is much too long.
    ///
    /// - Returns: Whether some of it was written back.
    func limit(_ database: Database, after pages: Int = WriteAheadLog.pages) -> Bool {
        let count = self.count.load(ordering: .relaxed)
        // A log that was written back begins again at the next commit, unless someone reads from it.
        if count < self.checked.load(ordering: .relaxed) { self.checked.store(0, ordering: .relaxed) }
        let isLong = self.size > self.limit
        guard isLong || count - self.checked.load(ordering: .relaxed) >= pages else { return false }
        self.checked.store(count, ordering: .relaxed)
        do {
            // Tried again later where it does not succeed now.
            _ = try database.checkpoint(isLong ? .truncate : .passive)
            return true
        } catch { return false }
    }

    /// The file's size; 0 where there is none.
    var size: Int {
        var status = stat()
        return stat(self.path + "-wal", &status) == 0 ? Int(status.st_size) : 0
    }
}
