// SPDX-License-Identifier: Apache-2.0
internal import SQLite
internal import Synchronization

/// The durable queue in one SQLite file: transfers and their order, sessions with their events, and settings.
///
/// Writes are grouped: writes that are requested during a commit share the next transaction, so that many small changes
/// cost one sync. A write that throws is undone alone; the others of its group are kept.
package final class QueueStore: Sendable {
    private let writer: WritingThread
    private let readers: ReadingThreads
    private let path: String
    private let commits: GroupCommit
    private let state = Mutex(ClosingState())
    private let health = WriteHealth()
    private let log: WriteAheadLog
    private let marker: StateMarker
    /// The directory of the database.
    let directory: String

    /// Opens the database at `path`, or creates one (mode 0600), and migrates it to the current version.
    ///
    /// The file `PATH-state` next to it distinguishes a lost database from one that never existed.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - threads: The threads and the clock; simulations replace them.
    /// - Throws: ``QueueStoreError`` with `tooNew`, `damaged` (also if durable commits are missing), `busy`, `full` or
    ///   `inputOutput`.
    package convenience init(path: String, threads: StoreThreads = .system) throws(QueueStoreError) {
        try self.init(path: path, migrations: Migration.all, threads: threads)
    }

    init(
        path: String,
        migrations: [Migration] = Migration.all,
        log: WriteAheadLog? = nil,
        longestGroup: Duration = .milliseconds(100),
        threads: StoreThreads = .system
    ) throws(QueueStoreError) {
        self.directory = DatabaseFile.directory(of: path)
        self.marker = StateMarker(path: path)
        self.log = log ?? WriteAheadLog(path: path)
        self.path = path
        self.writer = WritingThread(
            try Self.open(path, migrations, self.log, self.marker),
            path: path,
            threads: threads
        )
        self.readers = ReadingThreads(path: path, threads: threads) { () throws(QueueStoreError) in
            try Self.openReader(path)
        }
        self.commits = GroupCommit(
            thread: self.writer,
            log: self.log,
            longest: longestGroup,
            now: threads.now,
            health: self.health,
            marker: self.marker
        )
        self.commits.start()
    }

    /// The error of the last write if the disk or the file caused it; `nil` after a successful write.
    package var failure: QueueStoreError? { self.health.failure }

    /// Calls `handler` on the store's thread for each write that fails because of the disk or the file, and with `nil`
    /// when writes succeed again.
    package func onFailure(_ handler: @escaping @Sendable (QueueStoreError?) -> Void) { self.health.observe(handler) }

    /// Calls `handler` on the store's thread for transfers of
    /// ``QueueWriter/removeAll(session:at:keeping:deletesPartial:)`` that may have files, or uploads at a server.
    ///
    /// It is called before their ends are stored, and again after a kill. Transfers that are removed before there is a
    /// handler are kept for it.
    package func onRemoved(_ handler: @escaping @Sendable ([StoredTransfer], _ deletesPartial: Bool) -> Void) {
        self.commits.observe(handler)
    }

    /// Performs `work` in a transaction, which it may share with other writes; it is durable when this returns.
    ///
    /// `work` runs on the store's own thread and must not block. If it catches an error of the disk, it is undone
    /// nevertheless.
    package func write<T: Sendable>(
        _ work: @escaping @Sendable (borrowing QueueWriter) throws(QueueStoreError) -> T
    ) async throws(QueueStoreError) -> T {
        let result: Result<T, QueueStoreError> = await withCheckedContinuation { continuation in
            self.writeLater(work) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Performs `work` in a shared transaction; calls `done` on the store's thread when it is durable or has failed.
    package func writeLater<T: Sendable>(
        _ work: @escaping @Sendable (borrowing QueueWriter) throws(QueueStoreError) -> T,
        done: @escaping @Sendable (Result<T, QueueStoreError>) -> Void
    ) {
        self.commits.add(Work(work, done: done))
    }

    /// Reads a consistent state, concurrently with writes.
    package func read<T: Sendable>(
        _ work: @escaping @Sendable (borrowing QueueReader) throws(QueueStoreError) -> T
    ) async throws(QueueStoreError) -> T {
        guard self.state.withLock({ $0.readBegins() }) else { throw .closed(self.path) }
        let path = self.path
        let result: Result<T, QueueStoreError> = await withCheckedContinuation { continuation in
            self.readers.perform { opened in
                do throws(QueueStoreError) {
                    // Swift 6.3.1 cannot compile a reader of a connection that another function makes.
                    let connection = Connection(sqlite: try opened.get(), path: path, fault: nil)
                    continuation.resume(returning: .success(try work(QueueReader(connection: connection))))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        self.perform(self.state.withLock { $0.readEnded() })
        return try result.get()
    }

    /// Finishes the pending writes, checkpoints, and closes the file.
    package func close() async {
        await withCheckedContinuation { continuation in
            self.perform(self.state.withLock { $0.closeAsked(continuation) })
        }
    }

    private func perform(_ action: ClosingState.Action) {
        switch action {
        case .nothing: break
        case .drain:
            self.commits.close()
            self.writer.perform { connection in
                self.commits.run(connection)
                try? connection.sqlite.checkpoint(.truncate)
                self.marker.stop()
                self.perform(self.state.withLock { $0.drained() })
            }
        case .closeConnections:
            // The writing one last: it copies the log and deletes it.
            self.readers.close {
                self.writer.close { self.perform(self.state.withLock { $0.connectionsClosed() }) }
            }
        case .resume(let waiting):
            for continuation in waiting { continuation.resume() }
        }
    }

    /// The number of transactions since the database was opened.
    ///
    /// For tests.
    package var transactions: Int { self.health.transactions }

    /// Performs all background work now.
    ///
    /// For tests.
    package func finishChores() async {
        await withCheckedContinuation { continuation in
            self.writer.perform { connection in
                self.commits.finishChores(connection)
                continuation.resume()
            }
        }
    }

    /// Limits the number of the file's pages, as if the disk were full beyond it; 0 removes the limit.
    ///
    /// For tests.
    package func limitPages(_ count: Int) async {
        await withCheckedContinuation { continuation in
            self.writer.perform { connection in
                _ = try? connection.integer("PRAGMA max_page_count = \(count == 0 ? Int(Int32.max) - 1 : count)")
                continuation.resume()
            }
        }
    }
}
