// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import SQLite

/// The thread of the writing connection, which performs its jobs one after another.
///
/// A serial queue has its own thread while it has jobs, however many other queues are blocked.
final class WritingThread: Sendable {
    /// The path of the database.
    let path: String
    private let queue = DispatchQueue(label: "martlet.queue.writer")
    // Only used on the queue.
    private nonisolated(unsafe) let sqlite: SQLiteConnection

    /// Takes over a connection, which the caller must not use any more.
    init(_ sqlite: SQLiteConnection, path: String) {
        self.sqlite = sqlite
        self.path = path
    }

    /// Performs a job after the earlier ones.
    func perform(_ job: @escaping @Sendable (Connection) -> Void) {
        self.queue.async { job(Connection(sqlite: self.sqlite, path: self.path, fault: nil)) }
    }

    /// Closes the connection after all jobs, then calls `done`; later jobs get a closed connection.
    func close(_ done: @escaping @Sendable () -> Void) {
        self.queue.async {
            self.sqlite.close()
            done()
        }
    }
}
