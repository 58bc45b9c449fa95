internal import HTTPTransport
internal import Synchronization

/// Calls that wait to be made in one context, one at a time and in order.
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
            // Each call, and what it holds, is let go of as soon as it has returned: an array frees what its end loses.
            calls.reverse()
            while let call = calls.popLast() { call() }
        }
    }
}
