// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// Calls a closure exactly once: when ``now()`` has been called often enough, and at the latest when the object is
/// released.
package final class CallOnce: Sendable {
    private struct State {
        var left: Int
        var call: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>

    /// Creates an object that will call a closure.
    ///
    /// - Parameters:
    ///   - count: The number of calls of ``now()`` that make it do so.
    ///   - call: The closure.
    package init(after count: Int = 1, _ call: @escaping @Sendable () -> Void) {
        self.state = Mutex(State(left: count, call: call))
    }

    deinit { self.state.withLock { $0.call.take() }?() }

    /// Counts a call, and calls the closure if it is the last one that was waited for.
    ///
    /// - Returns: Whether the closure was called.
    @discardableResult
    package func now() -> Bool {
        let call = self.state.withLock { state in
            state.left -= 1
            return state.left <= 0 ? state.call.take() : nil
        }
        call?()
        return call != nil
    }
}
