// SPDX-License-Identifier: Apache-2.0
import Synchronization
public import TransferCore
public import TransferEngine

/// Records events, and lets a test wait for one.
///
///     engine.observe { recorder.record($0) }
///     let end = await recorder.end(of: id)
public final class EventRecorder: Sendable {
    private struct Waiter {
        var predicate: @Sendable (TransferEvent) -> Bool
        var continuation: CheckedContinuation<TransferEvent, Never>
    }

    private struct State {
        var events: [TransferEvent] = []
        var waiters: [Waiter] = []
    }

    private let state = Mutex(State())

    /// Creates an empty recorder.
    public init() {}

    /// Records an event, and resumes the tasks that wait for it.
    public func record(_ event: TransferEvent) {
        let ready = self.state.withLock { state in
            state.events.append(event)
            let ready = state.waiters.filter { $0.predicate(event) }
            state.waiters.removeAll { $0.predicate(event) }
            return ready
        }
        for waiter in ready { waiter.continuation.resume(returning: event) }
    }

    /// The events so far.
    public var events: [TransferEvent] { self.state.withLock { $0.events } }

    /// The events of one transfer so far.
    public func events(of id: TransferID) -> [TransferEvent] { self.events.filter { $0.id == id } }

    /// Returns the first event that satisfies the predicate, recorded before or after the call.
    public func wait(for predicate: @escaping @Sendable (TransferEvent) -> Bool) async -> TransferEvent {
        await withCheckedContinuation { continuation in
            let known = self.state.withLock { state -> TransferEvent? in
                if let event = state.events.first(where: predicate) { return event }
                state.waiters.append(Waiter(predicate: predicate, continuation: continuation))
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    /// Returns the event that ends a transfer: finished, failed or cancelled.
    public func end(of id: TransferID) async -> TransferEvent {
        await self.wait { event in
            guard event.id == id else { return false }
            switch event.kind {
            case .finished, .failed, .cancelled: return true
            default: return false
            }
        }
    }
}
