/// How far an upload has come.
public struct UploadProgress: Sendable, Hashable {
    /// The bytes of content that are at the server or with the kernel, those of earlier runs included.
    public var bytesSent: Int64
    /// The bytes that are new since this was told last; negative where the server had less than was sent.
    public var bytesSinceLast: Int64
    /// The bytes of the whole content, or `nil` where only its end tells.
    public var bytesExpected: Int64?
    /// The bytes that the server has said it has, where its protocol tells.
    public var bytesAcknowledged: Int64?
    /// The bytes that this task has sent; those sent twice count twice.
    public var bytesSentByTask: Int64
    /// Bytes a second over the last few seconds.
    public var rate: Double
    /// The seconds left at this rate, or `nil`.
    public var secondsLeft: Double?

    /// From 0 to 1, or `nil` while the length is unknown.
    public var fraction: Double? {
        self.bytesExpected.map { $0 > 0 ? min(1, Double(self.bytesSent) / Double($0)) : 1 }
    }
}
