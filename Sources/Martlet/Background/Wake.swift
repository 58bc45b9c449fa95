internal import Synchronization

/// Something that one task waits for, again and again; a call that comes while it does not wait is not lost.
final class Wake: Sendable {
    private struct State {
        var isDue = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Lets the waiting task go on.
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
