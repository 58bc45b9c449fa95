// SPDX-License-Identifier: Apache-2.0
/// Decides when the wake command of a background session is started.
///
/// A batch of events is complete when all transfers of the session have ended, or some time after its first end. The
/// program is started once for a batch, never while it runs and never while a program has the session open. A start
/// after which no event was handled has failed; the next one then follows after a pause, which doubles, and after too
/// many of them only when another transfer ends.
///
/// Pure value: times are arguments, in nanoseconds of a monotonic clock. Events have the numbers of the store.
package struct WakeMachine: Hashable, Sendable {
    /// The times and counts; those of the daemon are the defaults.
    package struct Limits: Hashable, Sendable {
        /// The time from the first unhandled end until the program is started although transfers are unfinished.
        package var gathering: Int64 = 30_000_000_000
        /// The pause after the first failed start.
        package var firstPause: Int64 = 30_000_000_000
        /// The maximum pause.
        package var longestPause: Int64 = 3_600_000_000_000
        /// The number of consecutive failed starts after which only another end starts the program.
        package var starts = 8

        /// Creates the daemon's limits.
        package init() {}
    }

    /// The state, for a session's user.
    package enum Standing: Hashable, Sendable {
        /// All ends are handled.
        case idle
        /// The program is started when the batch is complete and no program has the session open.
        case gathering
        /// The program runs.
        case running
        /// The last start has failed; the next one follows at this time at the earliest.
        case pausing(until: Int64)
        /// The program is not started until another transfer ends.
        case exhausted
    }

    private let limits: Limits
    /// The number of the last event that is an end.
    private var lastEnd: Int64
    /// The number up to which a program has handled all events.
    private var handled: Int64
    /// When the first of the unhandled ends was stored; `nil` if there is none.
    private var since: Int64?
    private var isRunning = false
    /// Whether events were handled since the last start.
    private var hasProgressed = false
    /// The number of consecutive failed starts.
    package private(set) var failures = 0
    private var failedAt: Int64 = 0

    /// Creates the state of a session.
    ///
    /// - Parameters:
    ///   - handled: The number of the last acknowledged event.
    ///   - limits: The times and counts.
    package init(handled: Int64 = 0, limits: Limits = Limits()) {
        self.limits = limits
        self.lastEnd = handled
        self.handled = handled
    }

    // MARK: Events

    /// The end of a transfer was stored as an event.
    package mutating func endStored(_ number: Int64, at now: Int64) {
        guard number > self.lastEnd else { return }
        self.lastEnd = number
        if number > self.handled, self.since == nil { self.since = now }
        // The program may handle it even if it cannot handle the earlier ones.
        self.failures = min(self.failures, 1)
    }

    /// A program has handled the events up to a number: it acknowledged them, or declared its batch as complete.
    package mutating func handled(upTo number: Int64) {
        guard number > self.handled else { return }
        self.handled = number
        if number >= self.lastEnd { self.since = nil }
        self.failures = 0
        self.hasProgressed = true
    }

    /// The program was started.
    package mutating func started() {
        self.isRunning = true
        self.hasProgressed = false
    }

    /// A program runs that was started for an earlier session of the same name, which it has ended.
    package mutating func inherited() {
        self.isRunning = true
        self.hasProgressed = true
    }

    /// The program could not be started.
    package mutating func startFailed(at now: Int64) { self.failed(at: now) }

    /// The program ended.
    package mutating func exited(at now: Int64) {
        guard self.isRunning else { return }
        self.isRunning = false
        if !self.hasProgressed { self.failed(at: now) }
    }

    private mutating func failed(at now: Int64) {
        self.failures += 1
        self.failedAt = now
    }

    // MARK: Decision

    /// Whether the program is to be started.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - isHeld: Whether a program has the session open, or may be about to reconnect.
    ///   - isComplete: Whether no transfer of the session waits or runs.
    /// - Returns: Whether to start it; ``started()`` or ``startFailed(at:)`` must follow.
    package func isDue(at now: Int64, isHeld: Bool, isComplete: Bool) -> Bool {
        guard !isHeld, let since = self.since else { return false }
        switch self.standing {
        case .gathering: break
        case .pausing(let until): guard now >= until else { return false }
        case .idle, .running, .exhausted: return false
        }
        return isComplete || now >= since + self.limits.gathering
    }

    /// The current state.
    package var standing: Standing {
        if self.isRunning { return .running }
        if self.since == nil { return .idle }
        if self.failures >= self.limits.starts { return .exhausted }
        return self.failures == 0 ? .gathering : .pausing(until: self.failedAt + self.pause)
    }

    private var pause: Int64 {
        var pause = self.limits.firstPause
        for _ in 1..<max(1, self.failures) where pause < self.limits.longestPause { pause *= 2 }
        return min(pause, self.limits.longestPause)
    }
}
