// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// What happened, in order, for tests to wait for.
final class Log<Entry: Sendable>: Sendable {
    private struct Waiter {
        var isMet: @Sendable ([Entry]) -> Bool
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var entries: [Entry] = []
        var nextNumber = 0
        var waiters: [Int: Waiter] = [:]
    }

    private let state = Mutex(State())

    var entries: [Entry] { self.state.withLock { $0.entries } }

    func add(_ entry: Entry) {
        let met = self.state.withLock { state in
            state.entries.append(entry)
            let met = state.waiters.filter { $0.value.isMet(state.entries) }
            for number in met.keys { state.waiters[number] = nil }
            return met.values.map(\.continuation)
        }
        for continuation in met { continuation.resume() }
    }

    /// Returns when the entries meet a condition, or when the test's time is over.
    func wait(until isMet: @escaping @Sendable ([Entry]) -> Bool) async {
        let number = self.state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = self.state.withLock { state in
                    if isMet(state.entries) || Task.isCancelled { return true }
                    state.waiters[number] = Waiter(isMet: isMet, continuation: continuation)
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            self.state.withLock { $0.waiters.removeValue(forKey: number)?.continuation }?.resume()
        }
    }

    /// Returns when there are this many entries.
    func wait(for count: Int) async { await self.wait { $0.count >= count } }
}

extension Log where Entry: Equatable {
    /// Returns when the entry is there.
    func wait(for entry: Entry) async {
        await self.wait { $0.contains(entry) }
    }
}
