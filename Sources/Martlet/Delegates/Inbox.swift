internal import HTTPTransport
internal import Synchronization

/// Pending calls in one context, made one at a time and in order.
final class Inbox: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var isScheduled = false
    }

    private let context: CallbackContext
    private let state = Mutex(State())

    init(_ context: CallbackContext) { self.context = context }

    func put(_ call: @escaping @Sendable () -> Void) {
        let schedules = self.state.withLock { state in
            state.waiting.append(call)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if schedules { SharedLoops.afterThisRound { self.context.run { self.drain() } } }
    }

    private func drain() {
        while true {
            var calls = self.state.withLock { state in
                let calls = state.waiting
                state.waiting = []
                if calls.isEmpty { state.isScheduled = false }
                return calls
            }
            if calls.isEmpty { return }
            // Each call, with all that it captures, is released as soon as it returns: `popLast` frees the removed
            // element.
            calls.reverse()
            while let call = calls.popLast() { call() }
        }
    }
}
