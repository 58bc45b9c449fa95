internal import FileStorage
internal import NIOCore
internal import TransferCore

/// Handles one request: consumes its content and sends the response, on the connection's event loop.
protocol Exchange: AnyObject {
    /// Starts. The head is known, and no content has been read.
    func begin(_ connection: any ExchangeConnection)
    /// Content bytes arrived; the buffer is valid only during the call.
    func received(_ bytes: UnsafeRawBufferPointer)
    /// The content is complete.
    func ended()
    /// The client will send nothing more; it may still expect the response.
    func inputClosed()
    /// The connection was lost, or the request aborted, before the response started. No call follows.
    func lost()
}

/// The operations of a connection that an exchange may use.
protocol ExchangeConnection: AnyObject {
    /// The event loop of the connection.
    var eventLoop: any EventLoop { get }
    /// Pauses reading until ``release()`` was called as many times: no content arrives meanwhile.
    func hold()
    /// Balances one ``hold()``; the last one resumes reading.
    func release()
    /// Sends an interim response, unless the client uses HTTP/1.0.
    func interim(_ status: Int, _ fields: HeaderFields)
    /// Sends the response; only the first call has an effect.
    func answer(_ answer: Answer)
    /// Closes the connection without a response, as if the client had disconnected.
    func abort()
    /// Runs blocking work on a thread pool, then calls `then` with its result on the event loop.
    ///
    /// - Parameters:
    ///   - isListing: Whether the work runs on the threads for listings, apart from uploads and downloads.
    ///   - work: The work.
    ///   - then: Called with the result.
    func blocking<Value: Sendable>(
        isListing: Bool,
        _ work: @escaping @Sendable () -> Value,
        then: @escaping (Value) -> Void
    )
}

extension Exchange {
    func inputClosed() {}
}

extension ExchangeConnection {
    /// Runs blocking work on the thread pool for files.
    func blocking<Value: Sendable>(_ work: @escaping @Sendable () -> Value, then: @escaping (Value) -> Void) {
        self.blocking(isListing: false, work, then: then)
    }
}

/// A request and its origin.
struct Request: Sendable {
    /// The request head.
    var head: RequestHead
    /// The path and query of the request target.
    var target: RequestTarget
    /// The client's address, for the log and the record.
    var peer: String
    /// The authenticated user, if the credentials name one.
    var user: String?
    /// Whether the connection is encrypted.
    var isSecure: Bool

    /// Whether the method is GET or HEAD.
    var isRead: Bool { self.head.method == "GET" || self.head.method == "HEAD" }
}
