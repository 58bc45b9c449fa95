// SPDX-License-Identifier: Apache-2.0
/// A host, or the network, whose transfers wait.
public struct HostHold: Hashable, Sendable {
    /// The reason for the wait.
    public enum Reason: String, Sendable, Hashable {
        case unreachable
        /// Several hosts are unreachable, or no name server responds.
        case network
        /// The host requested different transfers to retry later (429, 503).
        case throttled
        /// The host responds to different transfers with errors only (429, 500, 502, 503, 504, 520 to 530).
        case errors
        /// A file system is full or read-only.
        case fileSystem = "file-system"
    }

    /// The host or the proxy; `nil` for the network and for a file system.
    public var origin: Origin?
    /// A directory on the file system, if the hold is of one.
    public var directory: String?
    /// The reason for the wait.
    public var reason: Reason
    /// The kind of the last failure.
    public var code: TransferFailure.Code
    /// A short description of the last failure, such as "connection refused".
    public var cause: String
    /// The last failure's own message.
    public var message: String
    /// The start of the wait, in seconds since 1970.
    public var since: Int64
    /// The time of the next attempt, in seconds since 1970; `nil` while one is in progress.
    public var nextTry: Int64?

    /// Creates a hold.
    public init(
        origin: Origin?,
        reason: Reason,
        code: TransferFailure.Code,
        cause: String,
        message: String,
        since: Int64,
        nextTry: Int64?,
        directory: String? = nil
    ) {
        self.directory = directory
        self.origin = origin
        self.reason = reason
        self.code = code
        self.cause = cause
        self.message = message
        self.since = since
        self.nextTry = nextTry
    }
}
