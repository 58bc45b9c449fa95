// SPDX-License-Identifier: Apache-2.0
/// The progress of a transfer.
public struct RunProgress: Sendable {
    /// The number of bytes present, including those of earlier runs.
    public var bytes: Int64
    /// The whole length, or `nil` if unknown.
    public var total: Int64?
    /// Bytes per second over the last few seconds.
    public var rate: Double
    /// The seconds left at this rate, or `nil`.
    public var secondsLeft: Double?
    /// The number of connections in use.
    public var connections: Int
    /// Of an upload: the content bytes sent since it was added, counting repeated bytes twice; otherwise `nil`.
    public var sent: Int64?
    /// Of an upload: the number of bytes that the server has acknowledged, if its protocol reports it.
    public var acknowledged: Int64?

    /// Creates a progress value.
    public init(bytes: Int64, total: Int64?, rate: Double, secondsLeft: Double?, connections: Int) {
        self.bytes = bytes
        self.total = total
        self.rate = rate
        self.secondsLeft = secondsLeft
        self.connections = connections
    }
}
