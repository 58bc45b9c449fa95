package import TransferCore

/// How much a receiver takes of one client, and of all.
public struct ReceiverLimits: Sendable {
    /// The most connections at once.
    public var connections: Int = 4096
    /// The most bytes of one upload, or `nil` for no limit.
    public var upload: Int64?
    /// The most bytes that all uploads of this run may bring, with what earlier runs left unfinished, or `nil` for no
    /// limit.
    public var total: Int64?
    /// The bytes that are left free on the filesystem.
    public var reserve: Int64 = 16 << 20
    /// How long a request's head may take, from its first byte on, or from the connection's begin.
    public var headTime: Duration = .seconds(30)
    /// How long a connection may wait for its next request.
    public var keepAlive: Duration = .seconds(75)
    /// How long nothing may come of an upload, or go of a download.
    public var idle: Duration = .seconds(60)
    /// The bytes a second that an upload must come with, on the average after its first ``idle``; 0 for any.
    public var slowest: Int64 = 100
    /// The longest that one upload request may take, or `nil` for no limit.
    public var uploadTime: Duration?
    /// How long an upload that was broken off can be gone on with.
    public var expiry: Duration = .seconds(24 * 3600)
    /// How long running requests may go on after a stop was asked for.
    public var grace: Duration = .seconds(30)
    /// What a request may be made of.
    package var parser = RequestParser.Limits()

    /// The usual limits.
    public init() {}
}
