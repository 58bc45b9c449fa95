internal import FileStorage
internal import NIOCore
internal import TransferCore

/// What takes a request's content and answers it; lives on the loop of its connection.
protocol Exchange: AnyObject {
    /// Begins; the head is known, and nothing of the content has been read.
    func begin(_ connection: any ExchangeConnection)
    /// Bytes of the content, valid only during the call.
    func received(_ bytes: UnsafeRawBufferPointer)
    /// The content is whole.
    func ended()
    /// The connection was lost, or the request given up, before the answer began; nothing else follows.
    func lost()
}

/// What an exchange does with its connection.
protocol ExchangeConnection: AnyObject {
    /// The loop that everything happens on.
    var eventLoop: any EventLoop { get }
    /// Stops reading until as many releases have come: no content arrives meanwhile.
    func hold()
    /// Goes on reading.
    func release()
    /// Sends an interim response, to a client that knows them.
    func interim(_ status: Int, _ fields: HTTPFields)
    /// Sends the answer; the first one counts.
    func answer(_ answer: Answer)
    /// Ends the connection without an answer, as it would end if the client had gone.
    func abort()
    /// Runs something that blocks elsewhere, and goes on here with what it returned.
    func blocking<Value: Sendable>(_ work: @escaping @Sendable () -> Value, then: @escaping (Value) -> Void)
}

/// A request and where it came from.
struct Request: Sendable {
    /// The head.
    var head: RequestHead
    /// The target's path and query.
    var target: RequestTarget
    /// The client's address, for the log and the record.
    var peer: String
    /// Who it is, where credentials say so.
    var user: String?
    /// Whether the connection is encrypted.
    var isSecure: Bool

    /// Whether the method only reads.
    var isRead: Bool { self.head.method == "GET" || self.head.method == "HEAD" }
}
