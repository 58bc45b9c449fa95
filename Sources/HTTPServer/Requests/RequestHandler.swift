// SPDX-License-Identifier: Apache-2.0
package import NIOCore
package import NIOPosix
package import TransferCore

/// Handles one request: consumes its content and sends the response, on the connection's event loop.
///
/// This is the interface for content that is consumed while it arrives. Most requests are simpler: see ``Router``.
package protocol RequestHandler: AnyObject {
    /// Starts. The head is known, and no content has been read.
    func begin(_ connection: any RequestContext)
    /// Content bytes arrived; the buffer is valid only during the call.
    func received(_ bytes: UnsafeRawBufferPointer)
    /// The content is complete.
    func ended()
    /// The client will send nothing more; it may still expect the response.
    func inputClosed()
    /// The connection was lost, or the request aborted, before the response started. No call follows.
    func lost()
}

/// The operations of a connection that a handler may use, on its event loop.
package protocol RequestContext: AnyObject {
    /// The event loop of the connection.
    var eventLoop: any EventLoop { get }
    /// Pauses reading until ``release()`` was called as many times: no content arrives meanwhile.
    func hold()
    /// Balances one ``hold()``; the last one resumes reading.
    func release()
    /// Sends an interim response, unless the client uses HTTP/1.0.
    func interim(_ status: Int, _ fields: HeaderFields)
    /// Sends the response; only the first call has an effect.
    func respond(_ response: Response)
    /// Closes the connection without a response, as if the client had disconnected.
    func abort()
    /// Starts a task, for which the listener waits when it stops.
    func task(_ operation: @escaping @Sendable () async -> Void)
    /// Runs blocking work on a thread pool, then calls `then` with its result on the event loop.
    ///
    /// - Parameters:
    ///   - pool: The threads; `nil` for those of the listener.
    ///   - work: The work.
    ///   - then: Called with the result.
    func blocking<Value: Sendable>(
        on pool: NIOThreadPool?,
        _ work: @escaping @Sendable () -> Value,
        then: @escaping (Value) -> Void
    )
}

extension RequestHandler {
    /// Does nothing.
    package func inputClosed() {}
}

extension RequestContext {
    /// Runs blocking work on the threads of the listener.
    package func blocking<Value: Sendable>(_ work: @escaping @Sendable () -> Value, then: @escaping (Value) -> Void) {
        self.blocking(on: nil, work, then: then)
    }
}
