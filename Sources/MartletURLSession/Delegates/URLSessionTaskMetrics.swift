// SPDX-License-Identifier: Apache-2.0
public import Foundation
#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif
internal import TransferCore

/// The measurements of a task: one entry for each request, redirects included.
public final class URLSessionTaskMetrics: NSObject, Sendable {
    /// The requests, in order.
    public let transactionMetrics: [URLSessionTaskTransactionMetrics]
    /// The time from the creation of the task to its end.
    public let taskInterval: DateInterval
    /// The number of redirects that were followed.
    public let redirectCount: Int

    init(_ transactions: [URLSessionTaskTransactionMetrics], _ interval: DateInterval, redirects: Int) {
        self.transactionMetrics = transactions
        self.taskInterval = interval
        self.redirectCount = redirects
    }

    /// The source of a response.
    public enum ResourceFetchType: Int, Sendable {
        case unknown = 0
        case networkLoad = 1
        /// A server's push; not used.
        case serverPush = 2
        case localCache = 3
    }
}

/// The measurements of one request and its response.
///
/// Dates are `nil` for what did not take place, such as the making of a connection that an earlier request has made, and for
/// what is not known, such as the connections of the daemon (background sessions).
public final class URLSessionTaskTransactionMetrics: NSObject, Sendable {
    /// The request.
    public let request: URLRequest
    /// The response, if one was received.
    public let response: URLResponse?
    /// When the task began to fetch; the time that it waited for a connection is included.
    public let fetchStartDate: Date?
    /// When the host's name began to be resolved.
    public let domainLookupStartDate: Date?
    /// When the host's addresses were known.
    public let domainLookupEndDate: Date?
    /// When the connection began to be made.
    public let connectStartDate: Date?
    /// When the TLS handshake began.
    public let secureConnectionStartDate: Date?
    /// When the TLS handshake was complete.
    public let secureConnectionEndDate: Date?
    /// When the connection was made, with its tunnel and handshakes.
    public let connectEndDate: Date?
    /// When the request began to be sent; when the task began to fetch, if the connection is not known.
    public let requestStartDate: Date?
    /// When the last byte of the request was handed to the system, as far as that was reported before the response.
    public let requestEndDate: Date?
    /// When the head of the response was received.
    public let responseStartDate: Date?
    /// When the last byte of the response was received.
    public let responseEndDate: Date?
    /// The protocol.
    public let networkProtocolName: String?
    /// Whether the connection leads to a proxy.
    public let isProxyConnection: Bool
    /// Whether an earlier request used the connection.
    public let isReusedConnection: Bool
    /// The address of this end of the connection.
    public let localAddress: String?
    /// The port of this end of the connection.
    public let localPort: Int?
    /// The address of the peer, which is the proxy if there is one.
    public let remoteAddress: String?
    /// The port of the peer.
    public let remotePort: Int?
    /// The source of the response.
    public let resourceFetchType: URLSessionTaskMetrics.ResourceFetchType
    /// The bytes of the request's body that were sent.
    public let countOfRequestBodyBytesSent: Int64
    /// The bytes of the response's body that were received.
    public let countOfResponseBodyBytesReceived: Int64

    init(_ made: TransactionRecord, body: (sent: Int64, received: Int64)) {
        self.request = made.request
        self.response = made.response
        self.fetchStartDate = made.start
        self.domainLookupStartDate = made.date(\.lookup?.start)
        self.domainLookupEndDate = made.date(\.lookup?.end)
        self.connectStartDate = made.date(\.connect?.start)
        self.secureConnectionStartDate = made.date(\.handshake?.start)
        self.secureConnectionEndDate = made.date(\.handshake?.end)
        self.connectEndDate = made.date(\.connect?.end)
        let begin = made.isCached ? nil : made.connectedAt ?? made.start
        self.requestStartDate = begin
        self.requestEndDate = made.isCached ? nil : body.sent == 0 ? made.connectedAt : made.requestEnd
        self.isProxyConnection = made.connection?.hasProxy ?? false
        self.isReusedConnection = made.connection?.isReused ?? false
        self.localAddress = made.connection?.local?.address
        self.localPort = made.connection?.local?.port
        self.remoteAddress = made.connection?.remote?.address
        self.remotePort = made.connection?.remote?.port
        self.responseStartDate = made.responseStart
        self.responseEndDate = made.responseEnd
        self.networkProtocolName = made.isCached ? nil : "http/1.1"
        self.resourceFetchType = made.response == nil ? .unknown : made.isCached ? .localCache : .networkLoad
        self.countOfRequestBodyBytesSent = body.sent
        self.countOfResponseBodyBytesReceived = body.received
    }
}

/// The measurements of a request while its task runs.
struct TransactionRecord: Sendable {
    var request: URLRequest
    private(set) var response: URLResponse?
    var start: Date
    private(set) var responseStart: Date?
    var responseEnd: Date?
    var isCached = false
    var connection: ConnectionReport?
    /// When the connection was reported.
    var connectedAt: Date?
    private(set) var requestEnd: Date?

    /// The content was sent.
    ///
    /// A response may precede the report of that; the request ends with its begin then.
    mutating func sent() { if self.responseStart == nil { self.requestEnd = Date() } }

    /// A response has begun.
    mutating func received(_ response: URLResponse) {
        let now = Date()
        self.requestEnd = self.requestEnd ?? now
        self.responseStart = now
        self.response = response
    }

    /// The date of a time of the connection.
    func date(_ age: (ConnectionReport) -> Int64?) -> Date? {
        guard let connection, let connectedAt, let age = age(connection) else { return nil }
        return connectedAt - TimeInterval(age) / 1e9
    }
}
