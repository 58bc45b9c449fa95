// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// The state of writes for observers: whether they succeed.
final class WriteHealth: Sendable {
    typealias Handler = @Sendable (QueueStoreError?) -> Void

    private struct State {
        var failure: QueueStoreError?
        var transactions = 0
        var handler: Handler?
    }

    private let state = Mutex(State())

    /// The error of the last write, or `nil`.
    var failure: QueueStoreError? { self.state.withLock { $0.failure } }

    /// The number of transactions for writes, and of failed ones of background work.
    var transactions: Int { self.state.withLock { $0.transactions } }

    /// Calls `handler` for each failure, and with `nil` when writes succeed again.
    func observe(_ handler: @escaping Handler) { self.state.withLock { $0.handler = handler } }

    /// Records the outcome of a transaction and notifies the observer.
    func committed(_ failure: QueueStoreError?) {
        let handler: Handler? = self.state.withLock { state in
            state.transactions += 1
            guard failure != nil || state.failure != nil else { return nil }
            state.failure = failure
            return state.handler
        }
        handler?(failure)
    }
}

extension QueueStoreError {
    /// Whether the disk or the file caused the error, not the request.
    var isOfTheDisk: Bool {
        switch self.code {
        case .full, .damaged, .busy, .inputOutput: true
        case .duplicate, .notFound, .wrongState, .ambiguous, .tooNew, .closed: false
        }
    }
}
