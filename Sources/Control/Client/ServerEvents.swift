// SPDX-License-Identifier: Apache-2.0
/// A stream of the daemon's events, for one task to read: `for try await event in events`.
///
/// It ends with `nil` if the daemon ended it (because it stops, or the session was closed) or this side cancelled it,
/// and throws ``ControlError`` if the connection was lost; ``end`` distinguishes these. A slow reader slows the daemon
/// down: at most some hundred events are buffered here. Releasing the value or cancelling the reading task closes the
/// connection.
package final class ServerEvents: AsyncSequence, Sendable {
    package typealias Element = ServerSentEvent
    package typealias Failure = ControlError

    /// How a stream ended.
    package enum End: Sendable, Hashable {
        /// The daemon ended it.
        case closedByDaemon
        /// The connection was lost, or its data was invalid.
        case failed(ControlError)
        /// This side cancelled it.
        case cancelled
    }

    private let source: EventSource
    /// Keeps the client alive: a released client closes its connections, including this one.
    private let client: ControlClient

    init(_ source: EventSource, of client: ControlClient) {
        self.source = source
        self.client = client
    }

    deinit { self.source.cancel() }

    /// How the stream ended, or `nil`.
    ///
    /// Events received before the end may still be unread.
    package var end: End? { self.source.end }

    /// Cancels the stream; unread events are dropped.
    package func cancel() { self.source.cancel() }

    /// Waits for the next event; `nil` at the end.
    ///
    /// Only one task at a time may read.
    ///
    /// - Throws: ``ControlError`` if the connection was lost.
    package func next() async throws(ControlError) -> ServerSentEvent? { try await self.source.next() }

    /// Makes an iterator; all iterators read the same stream.
    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(events: self) }

    /// Reads events one by one.
    package struct AsyncIterator: AsyncIteratorProtocol {
        let events: ServerEvents

        /// Waits for the next event; `nil` at the end.
        package mutating func next() async throws(ControlError) -> ServerSentEvent? { try await self.events.next() }

        /// Waits for the next event; `nil` at the end.
        package mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(ControlError) -> ServerSentEvent? { try await self.events.next() }
    }
}
