/// How far a task has come.
public struct TransferProgress: Sendable, Hashable {
    /// The bytes of body that are there, those of earlier runs included.
    public var bytesReceived: Int64
    /// The bytes that are new since this was told last.
    public var bytesSinceLast: Int64
    /// The length of the whole, or `nil` while it is unknown.
    public var bytesExpected: Int64?
    /// Bytes a second over the last few seconds.
    public var rate: Double
    /// The seconds left at this rate, or `nil`.
    public var secondsLeft: Double?

    /// From 0 to 1, or `nil` while the length is unknown.
    public var fraction: Double? {
        self.bytesExpected.map { $0 > 0 ? min(1, Double(self.bytesReceived) / Double($0)) : 1 }
    }
}
