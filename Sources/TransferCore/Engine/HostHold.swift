/// A host, or the network, whose transfers wait.
public struct HostHold: Hashable, Sendable {
    /// Why they wait.
    public enum Reason: String, Sendable, Hashable {
        /// The host cannot be reached.
        case unreachable
        /// Several hosts cannot be reached, or no name server responds.
        case network
        /// The host asked different transfers to come back later (429, 503).
        case throttled
    }

    /// The host or the proxy; `nil` for the network.
    public var origin: Origin?
    /// Why its transfers wait.
    public var reason: Reason
    /// The kind of the last failure.
    public var code: TransferFailure.Code
    /// The last failure in a few words, such as "connection refused".
    public var cause: String
    /// The last failure's own message.
    public var message: String
    /// Since when they wait, in seconds since 1970.
    public var since: Int64
    /// The time of the next attempt, in seconds since 1970; `nil` while one is being made.
    public var nextTry: Int64?

    /// Creates a hold.
    public init(
        origin: Origin?,
        reason: Reason,
        code: TransferFailure.Code,
        cause: String,
        message: String,
        since: Int64,
        nextTry: Int64?
    ) {
        self.origin = origin
        self.reason = reason
        self.code = code
        self.cause = cause
        self.message = message
        self.since = since
        self.nextTry = nextTry
    }
}
