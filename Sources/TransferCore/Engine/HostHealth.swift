/// The health of one host, judged by the failures and successes of transfers.
///
/// Failures that are the host's fault hold back all of its transfers until the next attempt of the one that failed;
/// many of them without a byte in between make the host unreachable.
/// Pure value: time is an argument, in nanoseconds of a monotonic clock.
package struct HostHealth: Hashable, Sendable {
    /// The state of a host.
    package enum State: Hashable, Sendable {
        /// Nothing is known against the host.
        case healthy
        /// An attempt failed through the host's fault: no connection is opened before this time.
        case held(until: Int64)
        /// Every attempt since this time failed through the host's fault, more often than a transfer tolerates.
        case unreachable(since: Int64, heldUntil: Int64)
    }

    /// The state as of the last event; a hold may have expired since, see ``state(at:)``.
    private var state: State = .healthy

    /// The failures in a row that were the host's fault.
    package private(set) var failures = 0

    /// The time of the first of these failures.
    private var firstFailure: Int64 = 0

    /// Creates the health of a host that nothing is known about.
    package init() {}

    /// The state at a time.
    package func state(at now: Int64) -> State {
        if case .held(let until) = self.state, until <= now { return .healthy }
        return self.state
    }

    /// The end of the latest hold, or `nil` if there was none.
    package var heldUntil: Int64? {
        switch self.state {
        case .healthy: nil
        case .held(let until), .unreachable(_, let until): until
        }
    }

    /// Whether new connections must wait at a time.
    package func isHeld(at now: Int64) -> Bool {
        switch self.state {
        case .healthy: false
        case .held(let until), .unreachable(_, let until): until > now
        }
    }

    /// Whether the host has failed more often in a row than a transfer with so many retries tolerates.
    ///
    /// The transfers of a host share its failures, so the bound is a multiple of what a single transfer may cause.
    package func isDown(retries: Int) -> Bool { self.failures > 3 * (retries + 1) }

    /// The host sent data, so it is not down, however often it breaks off.
    ///
    /// A hold stays in force until its time.
    package mutating func served() {
        guard self.failures > 0 else { return }
        self.failures = 0
        if case .unreachable(_, let until) = self.state { self.state = .held(until: until) }
    }

    /// An attempt of a transfer failed.
    ///
    /// - Parameters:
    ///   - isHostFault: Whether the host, or the path to it, is at fault.
    ///   - retries: The retries that the transfer's caller allows.
    ///   - now: The time.
    /// - Returns: Whether the host is down for this transfer, so that another attempt is pointless.
    package mutating func failed(isHostFault: Bool, retries: Int, now: Int64) -> Bool {
        if isHostFault {
            if self.failures == 0 { self.firstFailure = now }
            self.failures += 1
        }
        let isDown = self.isDown(retries: retries)
        if isDown { self.state = .unreachable(since: self.firstFailure, heldUntil: self.heldUntil ?? now) }
        return isDown
    }

    /// Holds back new connections; a longer hold stays.
    package mutating func hold(until time: Int64) {
        let until = max(time, self.heldUntil ?? time)
        switch self.state {
        case .healthy, .held: self.state = .held(until: until)
        case .unreachable(let since, _): self.state = .unreachable(since: since, heldUntil: until)
        }
    }
}
