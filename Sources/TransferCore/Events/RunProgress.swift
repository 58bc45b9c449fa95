/// The progress of a transfer.
public struct RunProgress: Sendable {
    /// The bytes that are there, those of earlier runs included.
    public var bytes: Int64
    /// The whole length, or `nil` if unknown.
    public var total: Int64?
    /// Bytes a second over the last few seconds.
    public var rate: Double
    /// The seconds left at this rate, or `nil`.
    public var secondsLeft: Double?
    /// The connections in use.
    public var connections: Int
    /// Of an upload: the bytes of content sent since it was added, those sent twice counted twice; otherwise `nil`.
    public var sent: Int64?
    /// Of an upload: the bytes that the server has said it has, where its protocol tells.
    public var acknowledged: Int64?

    /// Creates a progress.
    public init(bytes: Int64, total: Int64?, rate: Double, secondsLeft: Double?, connections: Int) {
        self.bytes = bytes
        self.total = total
        self.rate = rate
        self.secondsLeft = secondsLeft
        self.connections = connections
    }
}
