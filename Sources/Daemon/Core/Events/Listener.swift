internal import Synchronization
internal import TransferCore

/// The unread events of one listener; beyond the capacity, progress is dropped first, then the sequence ends.
final class Listener: Sendable {
    private struct State {
        var events = FirstInFirstOut<ServiceEvent>()
        var hasProgress = false
        var waiter: CheckedContinuation<ServiceEvent?, Never>?
        var isFinished = false
    }

    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) { self.capacity = capacity }

    /// - Returns: Whether it keeps listening.
    func put(_ event: ServiceEvent) -> Bool {
        let (waiter, goesOn): (CheckedContinuation<ServiceEvent?, Never>?, Bool) = self.state.withLock { state in
            guard !state.isFinished else { return (nil, false) }
            if let waiter = state.waiter {
                state.waiter = nil
                return (waiter, true)
            }
            if case .progress = event {
                // The newest progress replaces the one before it.
                if state.hasProgress { Self.dropProgress(&state) }
                guard state.events.count < self.capacity else { return (nil, true) }
                state.hasProgress = true
            } else if state.events.count >= self.capacity {
                Self.dropProgress(&state)
                guard state.events.count < self.capacity else {
                    state.isFinished = true
                    return (nil, false)
                }
            }
            state.events.append(event)
            return (nil, true)
        }
        waiter?.resume(returning: event)
        return goesOn
    }

    func finish() {
        let waiter = self.state.withLock { state in
            state.isFinished = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    func next() async -> ServiceEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (event, isDone): (ServiceEvent?, Bool) = self.state.withLock { state in
                    if let event = state.events.popFirst() {
                        if case .progress = event { state.hasProgress = false }
                        return (event, true)
                    }
                    if state.isFinished || state.waiter != nil { return (nil, true) }
                    state.waiter = continuation
                    return (nil, false)
                }
                if isDone { continuation.resume(returning: event) }
            }
        } onCancel: {
            self.finish()
        }
    }

    private static func dropProgress(_ state: inout State) {
        state.events.removeAll { if case .progress = $0 { true } else { false } }
        state.hasProgress = false
    }
}
