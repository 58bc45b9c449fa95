internal import Dispatch
internal import GRDB
internal import Synchronization

/// The durable queue: transfers, their order, sessions with their events, and settings, in one SQLite file.
///
/// Writes are grouped: whatever is asked while a transaction is being committed goes into the next one, so that many small
/// changes cost one sync. A write that throws undoes itself alone; the others of its group stay.
package final class QueueStore: Sendable {
    private let pool: DatabasePool
    private let commits: GroupCommit
    private let state = Mutex(ClosingState())

    /// Opens the database at `path`, or makes one (mode 0600), and brings it to this version.
    ///
    /// - Throws: ``QueueStoreError`` with `tooNew`, `damaged`, `busy`, `full`, `inputOutput`.
    package convenience init(path: String) throws(QueueStoreError) {
        try self.init(path: path, migrations: Migration.all)
    }

    init(
        path: String,
        migrations: [Migration] = Migration.all,
        log: WriteAheadLog? = nil,
        longestGroup: Duration = .milliseconds(100)
    ) throws(QueueStoreError) {
        self.pool = try Self.open(path, migrations)
        self.commits = GroupCommit(pool: self.pool, log: log ?? WriteAheadLog(path: path), longest: longestGroup)
    }

    /// Does `work` in a transaction, with others; it is on disk when this returns.
    ///
    /// `work` runs on the store's own thread and must not block on anything else. Where it catches an error of the disk, it
    /// is undone all the same.
    package func write<T: Sendable>(
        _ work: @escaping @Sendable (borrowing QueueWriter) throws(QueueStoreError) -> T
    ) async throws(QueueStoreError) -> T {
        let result: Result<T, QueueStoreError> = await withCheckedContinuation { continuation in
            self.writeLater(work) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Does `work` in a transaction, with others; `done` is called on the store's thread when it is on disk or has failed.
    package func writeLater<T: Sendable>(
        _ work: @escaping @Sendable (borrowing QueueWriter) throws(QueueStoreError) -> T,
        done: @escaping @Sendable (Result<T, QueueStoreError>) -> Void
    ) {
        self.commits.add(Work(work, done: done))
    }

    /// Reads a consistent state, beside writes.
    package func read<T: Sendable>(
        _ work: @escaping @Sendable (borrowing QueueReader) throws(QueueStoreError) -> T
    ) async throws(QueueStoreError) -> T {
        guard self.state.withLock({ $0.readBegins() }) else {
            throw QueueStoreError(.closed, "the database '\(self.pool.path)' is closed")
        }
        let path = self.pool.path
        let result: Result<T, QueueStoreError> = await withCheckedContinuation { continuation in
            self.pool.asyncRead { opened in
                do throws(QueueStoreError) {
                    let connection: Connection
                    switch opened {
                    case .success(let database):
                        connection = Connection(database: database, path: path, fault: nil)
                    case .failure(let error): throw QueueStoreError(error, path: path)
                    }
                    continuation.resume(returning: .success(try work(QueueReader(connection: connection))))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        self.perform(self.state.withLock { $0.readEnded() })
        return try result.get()
    }

    /// Writes what was asked for, checkpoints, and closes the file.
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
            self.pool.asyncWriteWithoutTransaction { database in
                self.commits.run(database)
                _ = try? database.checkpoint(.truncate)
                self.perform(self.state.withLock { $0.drained() })
            }
        case .closePool:
            // The pool waits for its own queues when it closes, and this may be one of them.
            DispatchQueue.global()
                .async {
                    // What cannot be closed now is closed with the last reference.
                    try? self.pool.close()
                    self.perform(self.state.withLock { $0.poolClosed() })
                }
        case .resume(let waiting):
            for continuation in waiting { continuation.resume() }
        }
    }

    /// Lets the file have so many pages at most, as if the disk were full from there on; 0 takes the limit off.
    ///
    /// For tests.
    package func limitPages(_ count: Int) async {
        await withCheckedContinuation { continuation in
            self.pool.asyncWriteWithoutTransaction { database in
                _ = try? Int64.fetchOne(
                    database,
                    sql: "PRAGMA max_page_count = \(count == 0 ? Int(Int32.max) - 1 : count)"
                )
                continuation.resume()
            }
        }
    }
}
