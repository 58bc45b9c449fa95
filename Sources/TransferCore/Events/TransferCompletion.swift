/// The result of a finished transfer.
public struct TransferCompletion: Sendable {
    /// Where the file is; empty for a stream.
    public var path: String
    /// The file's length in bytes.
    public var bytes: Int64
    /// The bytes of body that were received for it in this engine's life.
    public var received: Int64
    /// The time from the first start to the end, queueing excluded.
    public var duration: Duration
    /// The file's digest, where `reportDigest` asked for it.
    public var digest: [UInt8]?
    /// Whether the file was there already and nothing was fetched.
    public var skipped: Bool
    /// Whether the server said that a conditional request's file has not changed (304); nothing was fetched.
    public var notModified = false
    /// Whether the length was confirmed by the server's framing; false where only the connection's end told it.
    public var verifiedLength: Bool
    /// Whether the bytes were compared with a digest of the whole, the caller's or the server's.
    public var verified = false
    /// What shows that all bytes are of one version; `nil` if nothing was fetched, and for uploads.
    public var consistency: Consistency?
    /// Of an upload: the bytes of content sent since it was added, those sent twice counted twice; otherwise `nil`.
    public var sent: Int64?
    /// Of an upload: the status of the response that said so, where there was one.
    public var status: Int?

    /// Creates a completion.
    public init(
        path: String,
        bytes: Int64,
        received: Int64,
        duration: Duration,
        digest: [UInt8]? = nil,
        skipped: Bool = false,
        verifiedLength: Bool = true
    ) {
        self.path = path
        self.bytes = bytes
        self.received = received
        self.duration = duration
        self.digest = digest
        self.skipped = skipped
        self.verifiedLength = verifiedLength
    }
}
