// SPDX-License-Identifier: Apache-2.0
/// The result of a finished transfer.
public struct TransferCompletion: Sendable {
    /// The path of the file; empty for a stream.
    public var path: String
    /// The file's length in bytes.
    public var bytes: Int64
    /// The body bytes received for it in this engine's lifetime.
    public var received: Int64
    /// The time from the first start to the end, excluding queueing.
    public var duration: Duration
    /// The file's digest, if `reportDigest` requested it.
    public var digest: [UInt8]?
    /// Whether the file already existed and nothing was fetched.
    public var skipped: Bool
    /// Whether the server responded to a conditional request that the file has not changed (304); nothing was fetched.
    public var notModified = false
    /// Whether the existing file was compared, for an update or an upload, and is the server's.
    public var unchanged = false
    /// Whether the file already existed and no response was compared with it: earlier responses were about other names.
    package var isUnexamined = false
    /// Whether the server's framing confirmed the length; false if only the end of the connection determined it.
    public var verifiedLength: Bool
    /// Whether the bytes were compared with a digest of the whole, from the caller or the server.
    public var verified = false
    /// The evidence that all bytes are of one version; `nil` if nothing was fetched, and for uploads.
    public var consistency: Consistency?
    /// Of an upload: the content bytes sent since it was added, counting repeated bytes twice; otherwise `nil`.
    public var sent: Int64?
    /// Of an upload: the status of the response that confirmed it, if there was one.
    public var status: Int?
    /// Of an upload: the link to the file that the server has made for it (`Share-Link`), as sent.
    public var link: String?

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
