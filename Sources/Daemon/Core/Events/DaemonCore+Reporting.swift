// SPDX-License-Identifier: Apache-2.0
/// Events for clients and hooks.
extension DaemonCore {
    /// Returns the daemon's events from now on.
    package nonisolated func events(
        _ interest: ServiceEvent.Interest,
        capacity: Int
    ) -> AsyncStream<[ServiceEvent]> {
        self.broadcast.listen(interest, capacity: capacity)
    }

    /// Whether there is an observer of such events; others need not be created.
    func isHeard(_ interest: ServiceEvent.Interest) -> Bool {
        self.configuration.onEvent != nil || !self.broadcast.interest.isDisjoint(with: interest)
    }

    /// Reports an event; those of a drain are sent together at its end.
    func tell(_ event: ServiceEvent) {
        self.configuration.onEvent?(event)
        if self.unreported?.append(event) == nil { self.broadcast.send([event]) }
    }
}
