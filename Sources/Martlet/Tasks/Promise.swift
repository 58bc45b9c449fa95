internal import Synchronization

/// A task's result, for those who wait for it.
final class Promise<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, TransferError>

    private struct State {
        var outcome: Outcome?
        /// Gives what was handed out, as long as somebody has it.
        var recall: (@Sendable () -> Value?)?
        var waiters: [@Sendable (Outcome) -> Void] = []
    }

    private let state = Mutex(State())

    /// Whether nobody waits.
    var isUnawaited: Bool { self.state.withLock { $0.waiters.isEmpty } }

    /// Sets the result, once, and tells those who wait.
    ///
    /// - Parameters:
    ///   - outcome: The result.
    ///   - recall: Where given, the result is not kept: later askers get what this gives.
    func fulfil(_ outcome: Outcome, recall: (@Sendable () -> Value?)? = nil) {
        let waiters = self.state.withLock { state in
            guard state.outcome == nil, state.recall == nil else { return [@Sendable (Outcome) -> Void]() }
            if let recall { state.recall = recall } else { state.outcome = outcome }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter(outcome) }
    }

    /// Calls `waiter` with the result, at once where it is there, on whichever thread sets it.
    func whenFulfilled(_ waiter: @escaping @Sendable (Outcome) -> Void) {
        let outcome: Outcome? = self.state.withLock { state in
            if let outcome = state.outcome { return outcome }
            if let recall = state.recall { return recall().map { .success($0) } ?? .failure(Self.handedOut) }
            state.waiters.append(waiter)
            return nil
        }
        if let outcome { waiter(outcome) }
    }

    /// Waits for the result.
    func outcome() async -> Outcome {
        await withCheckedContinuation { continuation in self.whenFulfilled { continuation.resume(returning: $0) } }
    }

    /// Waits for the result; where the surrounding Swift task is cancelled, so is the transfer.
    func value(of task: TransferTask) async throws -> Value {
        let outcome = await withTaskCancellationHandler {
            await self.outcome()
        } onCancel: {
            task.cancel()
        }
        if case .failure(let error) = outcome, error.code == .cancelled { try Task.checkCancellation() }
        return try outcome.get()
    }

    private static var handedOut: TransferError {
        TransferError(
            .fileWasHandedOut,
            "the temporary file was given to the delegates and handlers, and is deleted",
            remedy: "move it there, give a destination, or wait for the task before it ends"
        )
    }
}
