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
    private let health = WriteHealth()
    private let log: WriteAheadLog
    private let marker: StateMarker
    /// The directory that the database is in.
    let directory: String

    /// Opens the database at `path`, or makes one (mode 0600), and brings it to this version.
    ///
    /// A file next to it, `PATH-state`, tells a database that was lost from one that never was.
    ///
    /// - Throws: ``QueueStoreError`` with `tooNew`, `damaged` (also for one that lacks commits that were on disk), `busy`,
    ///   `full`, `inputOutput`.
    package convenience init(path: String) throws(QueueStoreError) {
        try self.init(path: path, migrations: Migration.all)
    }

    init(
        path: String,
        migrations: [Migration] = Migration.all,
        log: WriteAheadLog? = nil,
        longestGroup: Duration = .milliseconds(100)
    ) throws(QueueStoreError) {
        self.directory = DatabaseFile.directory(of: path)
        self.marker = StateMarker(path: path)
        self.log = log ?? WriteAheadLog(path: path)
        self.pool = try Self.open(path, migrations, self.log, self.marker)
        self.commits = GroupCommit(
            pool: self.pool,
            log: self.log,
            longest: longestGroup,
            health: self.health,
            marker: self.marker
        )
        self.commits.start()
    }

    /// Why the last write failed, where that lay in the disk or the file; `nil` once one succeeds.
    package var failure: QueueStoreError? { self.health.failure }

    /// Calls `handler`, on the store's thread, at each write that fails because of the disk or the file, and with `nil`
    /// when writes succeed again.
    package func onFailure(_ handler: @escaping @Sendable (QueueStoreError?) -> Void) { self.health.observe(handler) }

    /// Calls `handler`, on the store's thread, with transfers of ``QueueWriter/removeAll(session:at:keeping:deletesPartial:)``
    /// that may have files, or something at a server; before their ends are stored, and again after a kill.
    ///
    /// Those that are removed before there is a handler are kept for it.
    package func onRemoved(_ handler: @escaping @Sendable ([StoredTransfer], _ deletesPartial: Bool) -> Void) {
        self.commits.observe(handler)
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
                self.marker.stop()
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

    /// Does at once what is to be done in the background.
    ///
    /// For tests.
    package func finishChores() async {
        await withCheckedContinuation { continuation in
            self.pool.asyncWriteWithoutTransaction { database in
                self.commits.finishChores(database)
                continuation.resume()
            }
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
