// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// Sends requests and reads responses.
///
/// A transport runs work on *lanes*: event loops, each with its own pooled connections. An exchange stays on one lane
/// and calls its receiver there.
public protocol Transport: Sendable {
    /// The number of lanes, at least 1. Lanes are numbered from 0.
    var laneCount: Int { get }

    /// Runs `work` on a lane: immediately if the caller is on that lane, otherwise soon.
    func execute(onLane lane: Int, _ work: @escaping @Sendable () -> Void)

    /// Starts an exchange: one request and its response.
    ///
    /// - Precondition: The caller is on `lane`.
    /// - Returns: The exchange. The receiver is not called before this returns.
    func start(_ request: consuming ExchangeRequest, onLane lane: Int, receiver: any ExchangeReceiver) -> any Exchange

    /// The proxy through which a URL is requested, if any; in an outage the proxy is held instead of the host.
    func proxy(for url: HTTPURL) -> Origin?

    /// Closes idle connections and ends the lanes; running exchanges fail as cancelled.
    func shutdown() async
}

extension Transport {
    /// Returns `nil`: no proxy.
    public func proxy(for url: HTTPURL) -> Origin? { nil }
}

/// One request, as given by the engine.
public struct ExchangeRequest: Sendable {
    /// The method, a token; `GET` or `HEAD` for downloads.
    public var method: String
    /// The absolute URL; its user information is not sent.
    public var url: HTTPURL
    /// All fields except `Host`, `Connection`, `Content-Length` and the proxy's, which the transport adds.
    ///
    /// A `Host` field replaces the URL's. Fields that would break the framing or reach the wrong party are not sent:
    /// `Connection`, `Content-Length`, `Transfer-Encoding`, `Proxy-Connection`, and `Proxy-Authorization` except to a
    /// proxy.
    public var fields: HeaderFields
    /// The content, or `nil` for none; empty content is sent with `Content-Length: 0`.
    public var body: [UInt8]?
    /// Content that is pulled in pieces; `body` is `nil` then.
    public var content: (any RequestContent)?
    /// If set, the request has `Expect: 100-continue` (RFC 9110 §10.1.1), and the content is held back until the server
    /// responds or this time has passed, in nanoseconds.
    public var continueTimeout: Int64?
    /// The time for name resolution, connecting and the handshake together, in nanoseconds.
    public var connectTimeout: Int64
    /// The maximum size of one read from the socket, in bytes, or `nil` for the transport's default.
    public var readQuantum: Int?
    /// How a cache in front of the network is used; `nil` does not use it for this request.
    public var cachePolicy: CachePolicy?

    /// The addresses to which it must not be sent; `nil` if it may be sent to all.
    package var addresses: AddressRule?

    /// Creates a request.
    public init(
        method: String = "GET",
        url: HTTPURL,
        fields: HeaderFields,
        body: [UInt8]? = nil,
        connectTimeout: Int64,
        readQuantum: Int? = nil
    ) {
        self.init(
            method: method,
            url: url,
            fields: fields,
            body: body,
            connectTimeout: connectTimeout,
            readQuantum: readQuantum,
            cachePolicy: nil,
            addresses: nil
        )
    }

    /// Creates a request for a download.
    init(
        method: String,
        url: HTTPURL,
        fields: HeaderFields,
        body: [UInt8]?,
        connectTimeout: Int64,
        readQuantum: Int?,
        cachePolicy: CachePolicy?,
        addresses: AddressRule?
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.connectTimeout = connectTimeout
        self.readQuantum = readQuantum
        self.cachePolicy = cachePolicy
        self.addresses = addresses
    }
}

/// A running exchange.
///
/// Every member may be called from any thread; on the exchange's own lane it takes effect immediately.
public protocol Exchange: AnyObject, Sendable {
    /// Resumes reading after the receiver returned `pause`.
    func resumeReading()

    /// Ends the exchange and closes its connection; if called on the lane, the receiver is not called again.
    ///
    /// If called on another thread, calls in progress may still arrive.
    func cancel()

    /// Sets the maximum size of one read, in bytes, or `nil` for the transport's default.
    func setReadQuantum(_ bytes: Int?)
}

/// Receives the parts of one response, always on the exchange's lane.
///
/// Order: `exchangeConnected` once, the head once, body parts any number of times, then exactly one of
/// `exchangeEnded` and `exchangeFailed`. No calls follow `cancel()` or a returned `close`.
public protocol ExchangeReceiver: AnyObject, Sendable {
    /// The connection is established, or taken from the pool, and the request is being sent.
    func exchangeConnected()

    /// An interim response was received, such as 100 or 104; any number of them precede the head.
    func exchangeReceived(interim status: Int, fields: HeaderFields)

    /// The head of the final response was received; interim responses were consumed.
    func exchangeReceived(head: ResponseHead) -> ReadDecision

    /// Bytes of the body, without any chunk framing; valid only during the call.
    func exchangeReceived(body: UnsafeRawBufferPointer) -> ReadDecision

    /// The response is complete by its framing.
    ///
    /// - Parameters:
    ///   - trailers: The trailer fields.
    ///   - cleanly: False if the end of the connection delimits the body: over TCP, or over TLS after a close_notify.
    ///     Without a close_notify such a response is `truncated` (RFC 9112 §9.8).
    func exchangeEnded(trailers: HeaderFields, cleanly: Bool)

    func exchangeFailed(_ error: TransportError)
}

extension ExchangeReceiver {
    /// Does nothing.
    public func exchangeReceived(interim status: Int, fields: HeaderFields) {}
}
