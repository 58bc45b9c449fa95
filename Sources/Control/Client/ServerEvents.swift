/// A stream of the daemon's events, for one task to read: `for try await event in events`.
///
/// It ends with `nil` where the daemon ended it (it stops, or the session was closed) or this side cancelled it, and throws
/// ``ControlError`` where the connection was lost; ``end`` tells which. Who reads slowly slows the daemon down: no more than
/// some hundred events are kept here. Letting go of the value, and cancelling the task that reads, closes the connection.
package final class ServerEvents: AsyncSequence, Sendable {
    package typealias Element = ServerSentEvent
    package typealias Failure = ControlError

    /// How a stream ended.
    package enum End: Sendable, Hashable {
        /// The daemon ended it.
        case closedByDaemon
        /// The connection was lost, or brought what is no event.
        case failed(ControlError)
        /// This side ended it.
        case cancelled
    }

    private let source: EventSource
    /// A client that nobody has any more closes its connections, and this is one of them.
    private let client: ControlClient

    init(_ source: EventSource, of client: ControlClient) {
        self.source = source
        self.client = client
    }

    deinit { self.source.cancel() }

    /// How the stream ended, or `nil`.
    ///
    /// Events that came before may still be read.
    package var end: End? { self.source.end }

    /// Ends the stream; what was not read is dropped.
    package func cancel() { self.source.cancel() }

    /// The next event; `nil` at the end.
    ///
    /// For one task at a time.
    ///
    /// - Throws: ``ControlError`` where the connection was lost.
    package func next() async throws(ControlError) -> ServerSentEvent? { try await self.source.next() }

    /// Reads the events; there is one stream, whoever reads it.
    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(events: self) }

    /// Reads events one by one.
    package struct AsyncIterator: AsyncIteratorProtocol {
        let events: ServerEvents

        /// The next event; `nil` at the end.
        package mutating func next() async throws(ControlError) -> ServerSentEvent? { try await self.events.next() }

        /// The next event; `nil` at the end.
        package mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(ControlError) -> ServerSentEvent? { try await self.events.next() }
    }
}
