// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Synchronization

/// An event that a case waits for, with its values.
final class Expectation<Value: Sendable>: Sendable {
    private struct State {
        var values: [Value] = []
        var waiters: [Int: CheckedContinuation<Value?, Never>] = [:]
        var nextWaiter = 0
    }

    private let what: String
    private let state = Mutex(State())

    /// Creates an expectation of an event, such as "the completion".
    init(_ what: String) { self.what = what }

    /// The values so far, one for each time the event happened.
    var values: [Value] { self.state.withLock { $0.values } }

    /// Records that the event happened.
    func fulfill(_ value: Value) {
        let waiters = self.state.withLock { state in
            state.values.append(value)
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: value) }
    }

    /// Returns the first value, when there is one.
    ///
    /// - Throws: ``BehaviourFailure`` if the event does not happen in time.
    @discardableResult
    func value(within seconds: Double = 6) async throws -> Value {
        guard let value = await self.valueIfAny(within: seconds) else {
            throw BehaviourFailure("no \(self.what) within \(seconds) seconds")
        }
        return value
    }

    /// Returns the first value, or `nil` if there is none in time.
    func valueIfAny(within seconds: Double) async -> Value? {
        await withCheckedContinuation { continuation in
            let (ready, waiter) = self.state.withLock { state -> (Value?, Int) in
                if let value = state.values.first { return (value, 0) }
                state.nextWaiter += 1
                state.waiters[state.nextWaiter] = continuation
                return (nil, state.nextWaiter)
            }
            if let ready { return continuation.resume(returning: ready) }
            DispatchQueue.global()
                .asyncAfter(deadline: .now() + seconds) {
                    self.state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume(returning: nil)
                }
        }
    }

    /// Throws if the event happens within some seconds.
    func doesNotHappen(within seconds: Double) async throws {
        if await self.valueIfAny(within: seconds) != nil { throw BehaviourFailure("unexpected: \(self.what)") }
    }
}

extension Expectation<Void> {
    /// Records that the event happened.
    func fulfill() { self.fulfill(()) }
}
