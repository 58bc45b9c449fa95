// SPDX-License-Identifier: Apache-2.0
/// The progress of a task.
public struct TransferProgress: Sendable, Hashable {
    /// The number of body bytes received, including those of earlier runs.
    public var bytesReceived: Int64
    /// The number of bytes since the last report.
    public var bytesSinceLast: Int64
    /// The length of the complete body in bytes, or `nil` while it is unknown.
    public var bytesExpected: Int64?
    /// The rate over the last few seconds, in bytes per second.
    public var rate: Double
    /// The remaining seconds at this rate, or `nil`.
    public var secondsLeft: Double?

    /// The received fraction, from 0 to 1, or `nil` while the length is unknown.
    public var fraction: Double? {
        self.bytesExpected.map { $0 > 0 ? min(1, Double(self.bytesReceived) / Double($0)) : 1 }
    }
}
