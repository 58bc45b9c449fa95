// SPDX-License-Identifier: Apache-2.0
/// One task's events as an asynchronous sequence.
///
/// The sequence ends when the task ends. A data task's transfer pauses while more than about 1 MiB of its bytes has not
/// been taken from the sequence; of consecutive progress events only the newest is kept. Consumers of
/// one sequence share its events. A task can have several sequences, each of which receives the events from its creation on. Releasing a
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
