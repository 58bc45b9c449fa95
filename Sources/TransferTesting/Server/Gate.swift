// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// A condition to wait for, which becomes true once and stays true.
public final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// Creates a closed gate.
    public init() {}

    /// Opens the gate: all current and later waits return.
    public func open() {
        let waiting = self.state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for work in waiting { work() }
    }

    /// Whether the gate is open.
    public var isOpen: Bool { self.state.withLock { $0.isOpen } }

    /// Returns when the gate is open.
    public func wait() async {
        await withCheckedContinuation { continuation in
            self.whenOpen { continuation.resume() }
        }
    }

    /// Calls `work` when the gate is open: immediately, or later on the thread that opens it.
    public func whenOpen(_ work: @escaping @Sendable () -> Void) {
        let isOpen = self.state.withLock { state in
            if !state.isOpen { state.waiting.append(work) }
            return state.isOpen
        }
        if isOpen { work() }
    }
}
