// SPDX-License-Identifier: Apache-2.0
package import Control

/// A query for a queue's waiting transfers that run next; see ``QueueReader/nextToRun(_:)``.
package struct TurnQuery: Sendable {
    /// The session, or `nil` for the shared queue.
    package var session: String?
    /// The maximum number of transfers.
    package var limit: Int
    /// The transfers to skip, which were claimed before.
    package var excluded: Set<GID> = []
    /// The maximum number of further transfers by host; 0 for a host that is held or at its limit.
    package var room: [HostKey: Int] = [:]
    /// The transfers that the caller has in memory as they are stored: only their places are read.
    package var known: Set<GID> = []
    /// The maximum number of transfers of each host missing from ``room``; `nil` for no maximum.
    package var usualRoom: Int?

    /// Creates a query without limits for hosts.
    package init(session: String?, limit: Int) {
        self.session = session
        self.limit = limit
    }
}
