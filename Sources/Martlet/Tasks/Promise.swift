// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// A task's result and the callbacks that wait for it.
final class Promise<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, TransferError>

    private struct State {
        var outcome: Outcome?
        /// Returns the value that was handed out, while a recipient still holds it.
        var recall: (@Sendable () -> Value?)?
        var waiters: [@Sendable (Outcome) -> Void] = []
    }

    private let state = Mutex(State())

    /// Whether no callback waits.
    var isUnawaited: Bool { self.state.withLock { $0.waiters.isEmpty } }

    /// Sets the result, once, and calls the waiting callbacks.
    ///
    /// - Parameters:
    ///   - outcome: The result.
    ///   - recall: If given, the result is not kept, and later callers get the value that it returns.
    func fulfil(_ outcome: Outcome, recall: (@Sendable () -> Value?)? = nil) {
        let waiters = self.state.withLock { state in
            guard state.outcome == nil, state.recall == nil else { return [@Sendable (Outcome) -> Void]() }
            if let recall { state.recall = recall } else { state.outcome = outcome }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter(outcome) }
    }

    /// Calls `waiter` with the result: at once if it is set, otherwise on the thread that sets it.
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

    /// Waits for a result that another thread produces, or until the surrounding Swift task is cancelled.
    ///
    /// - Parameter register: Registers the callback that receives the result.
    /// - Returns: The result's value.
    /// - Throws: The result's error; `CancellationError`.
    static func wait(_ register: (@escaping @Sendable (Outcome) -> Void) -> Void) async throws -> Value {
        let promise = Promise()
        register { promise.fulfil($0) }
        let outcome = await withTaskCancellationHandler {
            await promise.outcome()
        } onCancel: {
            promise.fulfil(.failure(.cancelled))
        }
        if case .failure(let error) = outcome, error.code == .cancelled { try Task.checkCancellation() }
        return try outcome.get()
    }

    /// Waits for the result; cancelling the surrounding Swift task cancels the transfer.
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
            "the temporary file was passed to the delegates and handlers, and is deleted",
            remedy: "move it there, set a destination, or wait for the task before it ends"
        )
    }
}
