// SPDX-License-Identifier: Apache-2.0
/// The progress of an upload.
public struct UploadProgress: Sendable, Hashable {
    /// The number of content bytes at the server or passed to the kernel, including those of earlier runs.
    public var bytesSent: Int64
    /// The number of bytes since the last report; negative if the server had fewer bytes than were sent.
    public var bytesSinceLast: Int64
    /// The length of the complete content in bytes, or `nil` if it is known only at its end.
    public var bytesExpected: Int64?
    /// The number of bytes that the server has acknowledged, if its protocol reports it.
    public var bytesAcknowledged: Int64?
    /// The number of bytes that this task has sent; bytes sent twice count twice.
    public var bytesSentByTask: Int64
    /// The rate over the last few seconds, in bytes per second.
    public var rate: Double
    /// The remaining seconds at this rate, or `nil`.
    public var secondsLeft: Double?

    /// The sent fraction, from 0 to 1, or `nil` while the length is unknown.
    public var fraction: Double? {
        self.bytesExpected.map { $0 > 0 ? min(1, Double(self.bytesSent) / Double($0)) : 1 }
    }
}
