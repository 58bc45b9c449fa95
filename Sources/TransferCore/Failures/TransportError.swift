/// Why an exchange broke.
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable {
        /// The name could not be resolved.
        case nameResolution
        /// The connection could not be made.
        case connect
        /// Connecting, or the handshake, took too long.
        case connectTimeout
        /// The TLS handshake failed for another reason than the certificate.
        case tls
        /// The server's certificate is not trusted.
        case certificate
        /// The connection ended before the response did; the bytes so far are right.
        case truncated
        /// The connection was reset or broke otherwise.
        case reset
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
    /// How to mend it; may be empty.
    public var remedy = ""
    /// The setting that may help.
    public var setting: TransferFailure.Setting?
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
