// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// Limits the number of connections by the process's file descriptor limit.
package enum DescriptorLimit {
    /// The descriptors used by other things: standard streams, event loops, the tree, the area, files being synced.
    private static let reserve = 32
    /// The connection, the file that is read or written, and the duplicate descriptor for sendfile(2).
    private static let perConnection = 3

    /// The maximum number of concurrent connections, at most `wanted`.
    ///
    /// One more is always accepted, so that its client gets a 503.
    package static func connections(_ wanted: Int) -> Int {
        guard let limit = DescriptorLimits.current else { return wanted }
        return self.connections(wanted, within: limit.soft)
    }

    /// The same for a given limit of descriptors.
    package static func connections(_ wanted: Int, within limit: Int) -> Int {
        max(1, min(wanted, (limit - self.reserve) / self.perConnection))
    }
}
