package import Control

/// Which of a queue's waiting transfers are looked for; see ``QueueReader/nextToRun(_:)``.
package struct TurnQuery: Sendable {
    /// The session, or `nil` for the shared queue.
    package var session: String?
    /// At most how many.
    package var limit: Int
    /// Those that are passed over: they were taken before.
    package var excluded: Set<GID> = []
    /// How many more may be taken of a host; 0 for a host that is held or at its limit.
    package var room: [HostKey: Int] = [:]
    /// How many may be taken of each host that ``room`` does not name; `nil` for any number.
    package var usualRoom: Int?

    /// Looks for the next ones of all hosts.
    package init(session: String?, limit: Int) {
        self.session = session
        self.limit = limit
    }
}
