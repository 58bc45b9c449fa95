// SPDX-License-Identifier: Apache-2.0
/// One write that waits for its transaction, with its result type erased.
struct Work: Sendable {
    /// Performs the write, on the writing thread.
    let perform: @Sendable (Connection) -> Outcome
    /// Reports to the caller that the write was not performed.
    let refuse: @Sendable (QueueStoreError) -> Void

    /// The result of the write before the commit.
    struct Outcome {
        /// The error for which it must be undone.
        var error: QueueStoreError?
        /// Reports the result to the caller after the commit, or after its failure with an error.
        var finish: (QueueStoreError?) -> Void
    }

    /// Creates a write that calls `done` exactly once.
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
                // If the body replaced the disk's error by its own, the disk's error is reported.
                let error = fault.error ?? error
                return Outcome(error: error) { _ in done(.failure(error)) }
            }
        }
    }
}
