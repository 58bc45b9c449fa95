// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// The limits of a receiver, per client and in total.
public struct ReceiverLimits: Sendable {
    /// The maximum number of concurrent connections.
    public var connections: Int = 4096
    /// The maximum size of one upload in bytes, or `nil` for no limit.
    public var upload: Int64?
    /// The maximum size of all uploads of this run and of unfinished ones of earlier runs in bytes, or `nil` for no
    /// limit.
    ///
    /// Each file, record and new directory counts at least one block of 4 KiB.
    public var total: Int64?
    /// The free space that must remain on the filesystem, in bytes.
    public var reserve: Int64 = 16 << 20
    /// The maximum time for a request head, from its first byte; for the first request, from the start of the
    /// connection.
    public var headTime: Duration = .seconds(30)
    /// The maximum time that a connection may wait for its next request.
    public var keepAlive: Duration = .seconds(75)
    /// The maximum time without progress of an upload or a download.
    public var idle: Duration = .seconds(60)
    /// The minimum average rate of an upload after the first ``idle``, in bytes per second; 0 for no minimum.
    public var slowest: Int64 = 100
    /// The maximum time for one upload request, or `nil` for no limit.
    public var uploadTime: Duration?
    /// The time for which an interrupted upload can be resumed.
    public var expiry: Duration = .seconds(24 * 3600)
    /// The maximum time that running requests get to finish when the receiver stops.
    public var grace: Duration = .seconds(30)
    package var parser = RequestParser.Limits()

    /// Creates the default limits.
    public init() {}
}
