internal import Synchronization

/// Whether writes succeed, for those who report it.
final class WriteHealth: Sendable {
    typealias Handler = @Sendable (QueueStoreError?) -> Void

    private struct State {
        var failure: QueueStoreError?
        var handler: Handler?
    }

    private let state = Mutex(State())

    /// Why the last write failed, or `nil`.
    var failure: QueueStoreError? { self.state.withLock { $0.failure } }

    /// Calls `handler` at each failure, and with `nil` when writes succeed again.
    func observe(_ handler: @escaping Handler) { self.state.withLock { $0.handler = handler } }

    /// A transaction came to its end.
    func committed(_ failure: QueueStoreError?) {
        let handler: Handler? = self.state.withLock { state in
            guard failure != nil || state.failure != nil else { return nil }
            state.failure = failure
            return state.handler
        }
        handler?(failure)
    }
}

extension QueueStoreError {
    /// Whether it lies in the disk or the file, not in what was asked for.
    var isOfTheDisk: Bool {
        switch self.code {
        case .full, .damaged, .busy, .inputOutput: true
        case .duplicate, .notFound, .wrongState, .ambiguous, .tooNew, .closed: false
        }
    }
}
