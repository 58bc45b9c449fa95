internal import Synchronization

/// One task's events as an asynchronous sequence.
///
/// The sequence ends when the task ends. A data task's transfer pauses while more than about 1 MiB of its bytes has not
/// been taken from the sequence; of consecutive progress events only the newest is kept. A sequence has one consumer at
/// a time. A task can have several sequences, each of which receives the events from its creation on. Releasing a
/// sequence ends it.
public struct TaskEvents: AsyncSequence, Sendable {
    /// The element.
    public typealias Element = TaskEvent
    /// The sequence never fails: a task's failure is its last element.
    public typealias Failure = Never

    let mailbox: Mailbox

    /// Creates the iterator; an event taken by one iterator is not delivered to another.
    public func makeAsyncIterator() -> Iterator { Iterator(mailbox: self.mailbox) }

    /// Waits for the next event.
    public struct Iterator: AsyncIteratorProtocol {
        let mailbox: Mailbox

        /// The next event, or `nil` after the end or if the surrounding Swift task is cancelled.
        public mutating func next() async -> TaskEvent? { await self.mailbox.next() }
    }
}

/// The events that one sequence has not delivered yet.
final class Mailbox: Sendable {
    private struct State {
        var events: [TaskEvent] = []
        var first = 0
        var waiter: CheckedContinuation<TaskEvent?, Never>?
        var isClosed = false

        mutating func takeFirst() -> TaskEvent {
            let event = self.events[self.first]
            self.first += 1
            if self.first == self.events.count || self.first > 64 {
                self.events.removeFirst(self.first)
                self.first = 0
            }
            return event
        }
    }

    /// A weak reference: the mailbox lives as long as its sequence.
    struct Reference: Sendable { weak let mailbox: Mailbox? }

    private let flow: FlowGate
    private let state = Mutex(State())

    init(_ flow: FlowGate) { self.flow = flow }

    deinit {
        for event in self.state.withLock({ $0.events[$0.first...] }) { self.release(event) }
    }

    func put(_ event: TaskEvent) {
        let waiter: CheckedContinuation<TaskEvent?, Never>? = self.state.withLock { state in
            if let waiter = state.waiter {
                state.waiter = nil
                return waiter
            }
            if case .progress = event, state.first < state.events.count,
                case .progress = state.events[state.events.count - 1]
            {
                state.events[state.events.count - 1] = event
            } else if case .sent(var news) = event, state.first < state.events.count,
                case .sent(let last) = state.events[state.events.count - 1]
            {
                news.bytesSinceLast += last.bytesSinceLast
                state.events[state.events.count - 1] = .sent(news)
            } else {
                state.events.append(event)
            }
            return nil
        }
        guard let waiter else { return }
        self.release(event)
        waiter.resume(returning: event)
    }

    /// Marks the end: no more events follow.
    func close() {
        let waiter = self.state.withLock { state in
            state.isClosed = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    func next() async -> TaskEvent? {
        let event = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (event, isDone): (TaskEvent?, Bool) = self.state.withLock { state in
                    if state.first < state.events.count { return (state.takeFirst(), true) }
                    if state.isClosed || Task.isCancelled { return (nil, true) }
                    state.waiter = continuation
                    return (nil, false)
                }
                if isDone {
                    if let event { self.release(event) }
                    continuation.resume(returning: event)
                }
            }
        } onCancel: {
            let waiter = self.state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(returning: nil)
        }
        return event
    }

    private func release(_ event: TaskEvent) {
        if case .data(let bytes) = event { self.flow.release(bytes.count) }
    }
}
