// SPDX-License-Identifier: Apache-2.0
/// Divides the file descriptors of the process, so that clients cannot take those of transfers.
struct DescriptorShares: Hashable {
    /// The maximum number of connections over TCP.
    let connections: Int
    /// The maximum number of connections over the Unix socket.
    let localConnections: Int
    /// The maximum number of transfers at a time.
    let transfers: Int

    /// The descriptors of the daemon itself: listeners, event loops, database and log.
    private static let reserve = 64
    /// A transfer may have a connection, a file and a journal; one is a margin.
    private static let perTransfer = 4

    /// Divides a number of descriptors; `nil` if it is not limited.
    init(limit: Int?) {
        let limit = limit ?? .max
        let defaults = ServerLimits()
        self.connections = min(defaults.connections, max(8, limit / 4))
        self.localConnections = min(defaults.localConnections, max(8, limit / 8))
        self.transfers = max(1, (limit - Self.reserve - self.connections - self.localConnections) / Self.perTransfer)
    }
}
