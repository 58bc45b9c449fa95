// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import SQLite

/// The thread of the writing connection, which performs its jobs one after another.
final class WritingThread: Sendable {
    /// The path of the database.
    let path: String
    private let worker: any SerialWorker
    // Only used on the worker.
    private nonisolated(unsafe) let sqlite: SQLiteConnection

    /// Takes over a connection, which the caller must not use any more.
    init(_ sqlite: SQLiteConnection, path: String, threads: StoreThreads) {
        self.worker = threads.makeWorker("martlet.queue.writer")
        self.sqlite = sqlite
        self.path = path
    }

    /// Performs a job after the earlier ones.
    func perform(_ job: @escaping @Sendable (Connection) -> Void) {
        self.worker.perform { job(Connection(sqlite: self.sqlite, path: self.path, fault: nil)) }
    }

    /// Closes the connection after all jobs, then calls `done`; later jobs get a closed connection.
    func close(_ done: @escaping @Sendable () -> Void) {
        self.worker.perform {
            self.sqlite.close()
            done()
        }
    }
}
