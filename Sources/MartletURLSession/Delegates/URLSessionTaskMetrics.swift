// SPDX-License-Identifier: Apache-2.0
public import Foundation
#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

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
        /// Unknown.
        case unknown = 0
        /// The network.
        case networkLoad = 1
        /// A server's push; not used.
        case serverPush = 2
        /// The cache of the session.
        case localCache = 3
    }
}

/// The measurements of one request and its response.
///
/// Martlet measures what it can see without guessing: properties of the connection that it does not report are `nil`.
public final class URLSessionTaskTransactionMetrics: NSObject, Sendable {
    /// The request.
    public let request: URLRequest
    /// The response, if one was received.
    public let response: URLResponse?
    /// When the task began to fetch; the time that it waited for a connection is included.
    public let fetchStartDate: Date?
    /// When the request was made: when the task began to fetch, because a connection is part of it.
    public let requestStartDate: Date?
    /// When the head of the response was received.
    public let responseStartDate: Date?
    /// When the last byte of the response was received.
    public let responseEndDate: Date?
    /// The protocol.
    public let networkProtocolName: String?
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
        self.requestStartDate = made.isCached ? nil : made.start
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
    var response: URLResponse?
    var start: Date
    var responseStart: Date?
    var responseEnd: Date?
    var isCached = false
}
