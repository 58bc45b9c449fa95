public import TransferCore

/// Sends requests and reads responses.
///
/// A transport runs work on *lanes*: serial contexts, each an event loop with its own pooled connections.
/// An exchange lives on one lane and calls its receiver there.
public protocol Transport: Sendable {
    /// The number of lanes, at least 1. Lanes are numbered from 0.
    var laneCount: Int { get }

    /// Runs `work` on a lane: at once where the caller is on it already, otherwise soon.
    func execute(onLane lane: Int, _ work: @escaping @Sendable () -> Void)

    /// Begins one request and its response.
    ///
    /// - Precondition: The caller is on `lane`.
    /// - Returns: The exchange. The receiver is not called before this returns.
    func start(_ request: ExchangeRequest, onLane lane: Int, receiver: any ExchangeReceiver) -> any Exchange

    /// The proxy through which a URL is requested, if any: it is held when it cannot be reached, in place of the host.
    func proxy(for url: HTTPURL) -> Origin?

    /// Closes idle connections and ends the lanes; exchanges still running fail as cancelled.
    func shutdown() async
}

extension Transport {
    /// None.
    public func proxy(for url: HTTPURL) -> Origin? { nil }
}

/// One request as the engine asks for it.
public struct ExchangeRequest: Sendable {
    /// The method, a token; `GET` or `HEAD` for downloads.
    public var method: String
    /// The absolute URL; its user information is not sent.
    public var url: HTTPURL
    /// All fields but `Host`, `Connection`, `Content-Length` and the proxy's, which the transport adds.
    ///
    /// A `Host` that is here replaces the URL's; what else would break the framing or reach the wrong party is not sent:
    /// `Connection`, `Content-Length`, `Transfer-Encoding`, `Proxy-Connection`, and `Proxy-Authorization` but to a proxy.
    public var fields: HTTPFields
    /// The content, or `nil` for none; an empty one is sent as such, with `Content-Length: 0`.
    public var body: [UInt8]?
    /// The content where it is pulled piece by piece; then `body` is `nil`.
    public var content: (any RequestContent)?
    /// Where set, the server is asked first whether it wants the content (`Expect: 100-continue`, RFC 9110 §10.1.1), and
    /// its answer is waited for so long, in nanoseconds.
    public var continueTimeout: Int64?
    /// The time for name resolution, connecting and the handshake together, in nanoseconds.
    public var connectTimeout: Int64
    /// The most bytes one read may take from the socket, or `nil` for the transport's own choice.
    public var readQuantum: Int?

    /// Creates a request.
    public init(
        method: String = "GET",
        url: HTTPURL,
        fields: HTTPFields,
        body: [UInt8]? = nil,
        connectTimeout: Int64,
        readQuantum: Int? = nil
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.connectTimeout = connectTimeout
        self.readQuantum = readQuantum
    }
}

/// A request under way.
///
/// Every member may be called from any thread; on the exchange's own lane it acts at once.
public protocol Exchange: AnyObject, Sendable {
    /// Goes on reading after a receiver answered `pause`.
    func resumeReading()

    /// Ends the exchange and closes its connection; called on the lane, the receiver hears nothing more.
    ///
    /// From another thread calls that were under way may still arrive.
    func cancel()

    /// Sets the most bytes that one read may take, or `nil` for the transport's own choice.
    func setReadQuantum(_ bytes: Int?)
}

/// Takes the parts of one response, always on the exchange's lane.
///
/// Order: `exchangeConnected` once, the head once, body parts any number of times, then exactly one of
/// `exchangeEnded` and `exchangeFailed`. After `cancel()` or an answer `close`: nothing more.
public protocol ExchangeReceiver: AnyObject, Sendable {
    /// The connection is there (a pooled one at once) and the request is being sent.
    func exchangeConnected()

    /// An interim response came, such as 100 or 104; any number of them, before the head.
    func exchangeReceived(interim status: Int, fields: HTTPFields)

    /// The final response's head is complete; interim responses were consumed.
    func exchangeReceived(head: ResponseHead) -> ReadDecision

    /// Bytes of the body, without any chunk framing; valid only during the call.
    func exchangeReceived(body: UnsafeRawBufferPointer) -> ReadDecision

    /// The response is complete by its framing.
    ///
    /// - Parameters:
    ///   - trailers: The trailer fields.
    ///   - cleanly: False if only the end of the connection shows it: over TCP, or over TLS after a close_notify. Without a
    ///     close_notify such a response is `truncated` (RFC 9112 §9.8).
    func exchangeEnded(trailers: HTTPFields, cleanly: Bool)

    /// The exchange broke.
    func exchangeFailed(_ error: TransportError)
}

extension ExchangeReceiver {
    /// Does nothing.
    public func exchangeReceived(interim status: Int, fields: HTTPFields) {}
}
