// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import SQLite
internal import Synchronization

/// Two threads with a reading connection each; further reads wait for one of them, in order.
///
/// Each read has a transaction and therefore sees one state of the database, whatever is written meanwhile. Connections
/// are opened when they are first needed.
final class ReadingThreads: Sendable {
    /// Performs a read, or reports why it cannot be performed.
    typealias Read = @Sendable (Result<SQLiteConnection, QueueStoreError>) -> Void

    private final class Reader: Sendable {
        let worker: any SerialWorker
        // Only used on the worker.
        nonisolated(unsafe) var sqlite: SQLiteConnection?

        init(_ worker: any SerialWorker) { self.worker = worker }
    }

    private struct State {
        var idle: [Reader]
        var waiting: [Read] = []
    }

    private let readers: [Reader]
    private let state: Mutex<State>
    private let path: String
    private let open: @Sendable () throws(QueueStoreError) -> SQLiteConnection

    static let count = 2

    /// Creates the threads of a database; `open` opens a connection.
    init(
        path: String,
        threads: StoreThreads = .system,
        open: @escaping @Sendable () throws(QueueStoreError) -> SQLiteConnection
    ) {
        self.readers = (1...Self.count).map { Reader(threads.makeWorker("martlet.queue.reader.\($0)")) }
        self.state = Mutex(State(idle: self.readers.reversed()))
        self.path = path
        self.open = open
    }

    /// Performs a read when a thread is free.
    func perform(_ read: @escaping Read) {
        let reader = self.state.withLock { state in
            state.waiting.append(read)
            // The one that became idle last: the other one's connection may never be needed.
            return state.idle.popLast()
        }
        if let reader { reader.worker.perform { self.run(reader) } }
    }

    private func run(_ reader: Reader) {
        while true {
            let next: Read? = self.state.withLock { state in
                guard !state.waiting.isEmpty else {
                    state.idle.append(reader)
                    return nil
                }
                return state.waiting.removeFirst()
            }
            guard let next else { return }
            self.perform(next, reader)
        }
    }

    private func perform(_ read: Read, _ reader: Reader) {
        let connection: Connection
        do throws(QueueStoreError) {
            let sqlite: SQLiteConnection
            if let opened = reader.sqlite { sqlite = opened } else { sqlite = try self.open() }
            reader.sqlite = sqlite
            connection = Connection(sqlite: sqlite, path: self.path, fault: nil)
            try connection.run("BEGIN DEFERRED")
        } catch {
            read(.failure(error))
            return
        }
        read(.success(connection.sqlite))
        // SQLite has ended the transaction itself after some errors.
        if connection.isInTransaction { try? connection.run("COMMIT") }
        if connection.isInTransaction { try? connection.run("ROLLBACK") }
    }

    /// Closes the connections after the reads that run, then calls `done`.
    ///
    /// There must be no read that waits, and none may be added.
    func close(_ done: @escaping @Sendable () -> Void) { self.close(self.readers[...], done) }

    private func close(_ readers: ArraySlice<Reader>, _ done: @escaping @Sendable () -> Void) {
        guard let reader = readers.first else { return done() }
        reader.worker.perform {
            reader.sqlite?.close()
            self.close(readers.dropFirst(), done)
        }
    }
}
