internal import Synchronization

/// A signal for one waiting task, usable repeatedly; a call made while no task waits is not lost.
final class Wake: Sendable {
    private struct State {
        var isDue = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Resumes the waiting task.
    func call() {
        let waiter = self.state.withLock { state in
            state.isDue = state.waiter == nil
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Returns once ``call()`` was called after the last return, or the surrounding Swift task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = self.state.withLock { state in
                    if state.isDue || Task.isCancelled {
                        state.isDue = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            self.call()
        }
    }
}
