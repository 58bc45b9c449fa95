// SPDX-License-Identifier: Apache-2.0
/// The reason why an exchange failed.
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable, CaseIterable {
        /// The name could not be resolved now, because no name server responded.
        case nameResolution
        /// The name has no address.
        case unknownName
        /// The host refused the connection (`ECONNREFUSED`).
        case refused
        /// The host cannot be routed to, or the network is down.
        case unreachable
        /// The connection could not be made for another reason.
        case connect
        /// Connecting, or the handshake, timed out.
        case connectTimeout
        /// The TLS handshake failed for a reason other than the certificate.
        case tls
        /// The server's certificate has expired or is not valid yet.
        case certificateExpired
        /// The server's certificate is for another host.
        case certificateWrongHost
        /// No trusted authority signed the server's certificate.
        case certificateUnknownAuthority
        /// Another problem with a certificate: a pin that differs, or a client certificate that is missing or refused.
        case certificate
        /// The connection ended before the response was complete; the bytes so far are correct.
        case truncated
        /// The peer reset the connection.
        case reset
        /// The connection broke for another reason.
        case broken
        /// The response violates HTTP.
        case malformed
        /// The server speaks only HTTP/2.
        case onlyHTTP2
        /// The response head is larger than the transport accepts.
        case headTooLarge
        /// The exchange was cancelled from this side.
        case cancelled
        /// No descriptor or other local resource was available.
        case localResource
        /// The proxy requires credentials, or refuses those that it received.
        case proxyAuthentication
        /// The proxy did not open a tunnel to the server.
        case proxyRefused
        /// The configured proxy cannot be used, regardless of the network.
        case proxySettings
        /// The request's content could not be provided; its source has the reason.
        case content
        /// The response is not in the cache, and the network must not be used.
        case notCached
        /// The origin's `robots.txt` denies the request.
        case robotsDenied
        /// The address of the host must not be used.
        case addressDenied
        /// The origin does not provide its `robots.txt` for now (429, 5xx), so that nothing may be requested.
        case robotsUnavailable
    }

    /// The kind of failure.
    public var code: Code
    /// A message for the user.
    public var message: String
    /// How to fix it; may be empty.
    public var remedy = ""
    /// The setting that may help.
    public var setting: TransferFailure.Setting?
    /// The host or the proxy of the connection; `nil` if unknown.
    public var peer: Origin?
    /// The delay in seconds that the server requested, if any.
    public var retryAfter: Int64?
    /// Whether a pooled connection broke before any byte of this response: an immediate repetition is safe for GET and
    /// HEAD.
    public var onReusedConnection: Bool

    /// Creates an error.
    public init(
        _ code: Code,
        _ message: String,
        remedy: String = "",
        setting: TransferFailure.Setting? = nil,
        onReusedConnection: Bool = false
    ) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.setting = setting
        self.onReusedConnection = onReusedConnection
    }

    /// A message for the user.
    public var description: String { self.message }
}
