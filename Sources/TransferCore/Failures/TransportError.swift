/// Why an exchange broke.
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable, CaseIterable {
        /// The name could not be resolved now, because no name server responded.
        case nameResolution
        /// The name has no address.
        case unknownName
        /// The host refused the connection (`ECONNREFUSED`).
        case refused
        /// There is no route to the host, or the network is down.
        case unreachable
        /// The connection could not be made for another reason.
        case connect
        /// Connecting, or the handshake, took too long.
        case connectTimeout
        /// The TLS handshake failed for another reason than the certificate.
        case tls
        /// The server's certificate has expired or is not valid yet.
        case certificateExpired
        /// The server's certificate is for another host.
        case certificateWrongHost
        /// No trusted authority signed the server's certificate.
        case certificateUnknownAuthority
        /// Another problem with a certificate: a pin that differs, or a client certificate that is missing or refused.
        case certificate
        /// The connection ended before the response did; the bytes so far are right.
        case truncated
        /// The peer reset the connection.
        case reset
        /// The connection broke otherwise.
        case broken
        /// The response breaks HTTP's rules.
        case malformed
        /// The response head is larger than the transport takes.
        case headTooLarge
        /// The exchange was cancelled from this side.
        case cancelled
        /// No descriptor or other local resource was left.
        case localResource
        /// The proxy asks for credentials, or refuses those it was given.
        case proxyAuthentication
        /// The proxy made no tunnel to the server.
        case proxyRefused
        /// The proxy that was asked for cannot be used, whatever the network does.
        case proxySettings
        /// The request's content could not be given; its source knows why.
        case content
    }

    /// The kind of failure.
    public var code: Code
    /// What happened, for a person.
    public var message: String
    /// How to fix it; may be empty.
    public var remedy = ""
    /// The setting that may help.
    public var setting: TransferFailure.Setting?
    /// The host, or the proxy, to which the connection was or was to be made; `nil` if unknown.
    public var peer: Origin?
    /// Whether a pooled connection broke before any byte of this response: repeating at once is safe for GET and HEAD.
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

    /// What happened, for a person.
    public var description: String { self.message }
}
