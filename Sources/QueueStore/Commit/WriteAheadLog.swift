internal import GRDB
#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Keeps the write-ahead log from growing where readers follow one another without a pause.
///
/// SQLite's own checkpoint, at a commit, starts the log anew only when nobody reads from it.
struct WriteAheadLog: Sendable {
    /// Pages after which SQLite checkpoints by itself: 16 MiB.
    static let pages = 4096
    /// The file's size that is left after a checkpoint.
    static let keptBytes = 16 << 20

    /// The database.
    var path: String
    /// The size from which readers are waited for.
    var limit = 64 << 20

    /// Empties the log where it is too long; waits for those who read now, and not for those who come meanwhile.
    func limit(_ database: Database) {
        guard self.size > self.limit else { return }
        // Tried again at the next commit where it does not succeed now.
        _ = try? database.checkpoint(.truncate)
    }

    /// The file's size; 0 where there is none.
    var size: Int {
        var status = stat()
        return stat(self.path + "-wal", &status) == 0 ? Int(status.st_size) : 0
    }
}
