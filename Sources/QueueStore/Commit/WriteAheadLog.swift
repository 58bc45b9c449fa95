// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import SQLite
internal import Synchronization

/// Checkpoints the write-ahead log, and limits its growth under continuous readers.
final class WriteAheadLog: Sendable {
    /// The number of pages after which the log is checkpointed: 16 MiB.
    static let pages = 4096
    /// The number of pages for a checkpoint between background steps, which writes wait for: 4 MiB.
    static let fewPages = 1024
    /// The maximum size of the log file after a checkpoint, in bytes.
    static let keptBytes = 16 << 20

    /// The path of the database.
    let path: String
    /// The size in bytes from which a checkpoint waits for readers.
    private let limit: Int
    /// The number of the log's pages after the last commit.
    private let count = Atomic(0)
    /// The number of its pages at the last checkpoint.
    private let checked = Atomic(0)

    init(path: String, limit: Int = 64 << 20) {
        self.path = path
        self.limit = limit
    }

    /// Counts the pages of a connection's commits, and replaces SQLite's automatic checkpoints.
    func observe(_ connection: SQLiteConnection) {
        connection.onCommit { [self] pages in self.count.store(pages, ordering: .relaxed) }
    }

    /// Checkpoints a long log; waits for current readers only if the log exceeds its limit.
    ///
    /// - Returns: Whether a checkpoint was performed.
    func limit(_ connection: SQLiteConnection, after pages: Int = WriteAheadLog.pages) -> Bool {
        let count = self.count.load(ordering: .relaxed)
        // After a checkpoint the next commit restarts the log, unless a reader still uses it.
        if count < self.checked.load(ordering: .relaxed) { self.checked.store(0, ordering: .relaxed) }
        let isLong = self.size > self.limit
        guard isLong || count - self.checked.load(ordering: .relaxed) >= pages else { return false }
        self.checked.store(count, ordering: .relaxed)
        do {
            // Tried again later if it fails now.
            try connection.checkpoint(isLong ? .truncate : .passive)
            return true
        } catch { return false }
    }

    /// The size of the log file in bytes; 0 if there is none.
    var size: Int {
        var status = stat()
        return FileCalls.stat(self.path + "-wal", &status) == 0 ? Int(status.st_size) : 0
    }
}
