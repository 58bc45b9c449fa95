/// What to do after a receiver took a part of a response.
public enum ReadDecision: Sendable {
    /// Go on reading.
    case read
    /// Read nothing more from the socket until `resumeReading()`; what was read already may still be delivered.
    case pause
    /// End the exchange; the connection is kept only if the response had just ended.
    case close
}
