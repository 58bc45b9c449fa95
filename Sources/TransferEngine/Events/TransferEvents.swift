// SPDX-License-Identifier: Apache-2.0
/// The engine's events as an asynchronous sequence with a bounded buffer.
///
/// A consumer that falls behind loses the oldest events and receives their number in `.missed`; of one transfer's
/// progress only the newest event is kept. It never stalls a transfer. One consumer at a time. Dropping it ends it.
public struct TransferEvents: AsyncSequence, Sendable {
    /// The type of the events.
    public typealias Element = TransferEvent
    /// The sequence never fails.
    public typealias Failure = Never

    let subscriber: EventSubscriber

    /// Creates the iterator; all iterators of a sequence share one buffer.
    public func makeAsyncIterator() -> Iterator { Iterator(subscriber: self.subscriber) }

    /// The iterator of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        let subscriber: EventSubscriber

        /// Waits for the next event; `nil` when the engine has stopped or the task was cancelled.
        public mutating func next() async -> TransferEvent? { await self.subscriber.next() }
    }
}
