internal import Synchronization

/// Runs blocking operations on a pool, one at a time, in order.
final class OperationLine: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var isBusy = false
    }

    private let pool: any BlockingPool
    private let state = Mutex(State())

    init(on pool: any BlockingPool) { self.pool = pool }

    /// Whether an operation is running or waiting.
    var isBusy: Bool { self.state.withLock { $0.isBusy } }

    func run(_ operation: @escaping @Sendable () -> Void) {
        let starts = self.state.withLock { state in
            state.waiting.append(operation)
            defer { state.isBusy = true }
            return !state.isBusy
        }
        if starts { self.pool.run { self.runWaiting() } }
    }

    private func runWaiting() {
        while true {
            let next: (@Sendable () -> Void)? = self.state.withLock { state in
                guard !state.waiting.isEmpty else {
                    state.isBusy = false
                    return nil
                }
                return state.waiting.removeFirst()
            }
            guard let next else { return }
            next()
        }
    }
}
