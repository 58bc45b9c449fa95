internal import Synchronization
internal import TransferCore

/// The engine's events as an asynchronous sequence with a bounded buffer.
///
/// A consumer that falls behind loses the oldest events and receives their number in `.missed`; of one transfer's
/// progress only the newest event is kept. It never stalls a transfer. One consumer at a time. Dropping it ends it.
public struct TransferEvents: AsyncSequence, Sendable {
    /// The type of the events.
    public typealias Element = TransferEvent
    /// The sequence never fails.
    public typealias Failure = Never

    let buffer: EventBuffer

    /// Creates the iterator; all iterators of a sequence share one buffer.
    public func makeAsyncIterator() -> Iterator { Iterator(buffer: self.buffer) }

    /// The iterator of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        let buffer: EventBuffer

        /// Waits for the next event; `nil` when the engine has stopped or the task was cancelled.
        public mutating func next() async -> TransferEvent? { await self.buffer.next() }
    }
}

/// The bounded buffer between the engine and one consumer.
final class EventBuffer: Sendable {
    private struct State {
        var events = FirstInFirstOut<TransferEvent>()
        var missed = 0
        var waiter: CheckedContinuation<TransferEvent?, Never>?
        var isFinished = false
        var whenUnused: (@Sendable () -> Void)?
    }

    /// A weak reference: the buffer lives as long as its sequence.
    ///
    /// Unchecked because a weak variable is mutable, even if never written again; reading it is safe on any thread.
    struct Reference: @unchecked Sendable {
        private(set) weak var buffer: EventBuffer?

        init(_ buffer: EventBuffer) { self.buffer = buffer }
    }

    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) { self.capacity = Swift.max(1, capacity) }

    deinit { self.state.withLock { $0.whenUnused }?() }

    /// Sets a callback that is called when the sequence is released.
    func whenUnused(_ work: @escaping @Sendable () -> Void) { self.state.withLock { $0.whenUnused = work } }

    func put(_ event: TransferEvent) {
        let resumed: CheckedContinuation<TransferEvent?, Never>? = self.state.withLock { state in
            if let waiter = state.waiter {
                state.waiter = nil
                return waiter
            }
            if case .progress = event.kind {
                let isReplaced = state.events.changeLast(where: { $0.id == event.id }) { last in
                    guard case .progress = last.kind else { return false }
                    last = event
                    return true
                }
                if isReplaced == true { return nil }
            }
            if state.events.count >= self.capacity, state.events.popFirst() != nil { state.missed += 1 }
            state.events.append(event)
            return nil
        }
        resumed?.resume(returning: event)
    }

    func finish() {
        let waiter = self.state.withLock { state in
            state.isFinished = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    func next() async -> TransferEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (event, isDone): (TransferEvent?, Bool) = self.state.withLock { state in
                    if state.missed > 0 {
                        defer { state.missed = 0 }
                        return (TransferEvent(id: nil, url: "", userInfo: nil, kind: .missed(state.missed)), true)
                    }
                    if let event = state.events.popFirst() { return (event, true) }
                    if state.isFinished || Task.isCancelled { return (nil, true) }
                    state.waiter = continuation
                    return (nil, false)
                }
                if isDone { continuation.resume(returning: event) }
            }
        } onCancel: {
            let waiter = self.state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(returning: nil)
        }
    }
}
