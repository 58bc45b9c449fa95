internal import GRDB

/// One write that waits for its transaction, without its type.
struct Work: Sendable {
    /// Does it, on the database's queue.
    let perform: @Sendable (Connection) -> Outcome
    /// Tells whoever asked that it was not done.
    let refuse: @Sendable (QueueStoreError) -> Void

    /// What came of it, before the commit.
    struct Outcome {
        /// Why it must be undone.
        var error: QueueStoreError?
        /// Tells whoever asked, once the group is on disk or, with an error, is not.
        var finish: (QueueStoreError?) -> Void
    }

    /// Makes one that calls `done` once.
    init<T: Sendable>(
        _ body: @escaping @Sendable (borrowing QueueWriter) throws(QueueStoreError) -> T,
        done: @escaping @Sendable (Result<T, QueueStoreError>) -> Void
    ) {
        self.refuse = { done(.failure($0)) }
        self.perform = { connection in
            var connection = connection
            let fault = Connection.Fault()
            connection.fault = fault
            do throws(QueueStoreError) {
                let value = try body(QueueWriter(connection: connection))
                if let error = fault.error { throw error }
                return Outcome(error: nil) { failure in done(failure.map { .failure($0) } ?? .success(value)) }
            } catch {
                // A caller that hides a full disk behind an error of its own still gets the disk's.
                let error = fault.error ?? error
                return Outcome(error: error) { _ in done(.failure(error)) }
            }
        }
    }
}
