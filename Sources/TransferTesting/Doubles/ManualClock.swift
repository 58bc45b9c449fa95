// SPDX-License-Identifier: Apache-2.0
import Synchronization
public import TransferEngine

/// A clock that advances only when a test moves it.
public final class ManualClock: TimeSource {
    private struct Entry {
        var due: Int64
        var id: UInt64
        var work: @Sendable () -> Void
    }

    private struct State {
        var now: Int64
        var wallAtZero: Int64
        var nextID: UInt64 = 0
        var entries: [Entry] = []
    }

    private let state: Mutex<State>

    /// Creates a clock.
    ///
    /// - Parameters:
    ///   - now: The initial monotonic time, in nanoseconds.
    ///   - wallNow: The initial wall time, in seconds since 1970.
    public init(now: Int64 = 1_000_000_000, wallNow: Int64 = 1_800_000_000) {
        self.state = Mutex(State(now: now, wallAtZero: wallNow - now / 1_000_000_000))
    }

    /// The monotonic time in nanoseconds.
    public var now: Int64 { self.state.withLock { $0.now } }

    /// The wall time in seconds since 1970-01-01T00:00:00Z; advances with ``now``.
    public var wallNow: Int64 { self.state.withLock { $0.wallAtZero + $0.now / 1_000_000_000 } }

    /// The number of pending timers.
    public var pendingCount: Int { self.state.withLock { $0.entries.count } }

    /// The nanoseconds until the next timer is due; `nil` if none is pending.
    public var nextDelay: Int64? {
        self.state.withLock { state in state.entries.map(\.due).min().map { max(0, $0 - state.now) } }
    }

    /// Calls `work` when the clock has advanced by `delay` nanoseconds, on the thread that moves it.
    @discardableResult
    public func schedule(after delay: Int64, _ work: @escaping @Sendable () -> Void) -> any Timer {
        let id = self.state.withLock { state in
            state.nextID += 1
            let (due, overflow) = state.now.addingReportingOverflow(max(0, delay))
            state.entries.append(Entry(due: overflow ? .max : due, id: state.nextID, work: work))
            return state.nextID
        }
        return ManualTimer(clock: self, id: id)
    }

    /// Moves the clock forward and runs every timer that becomes due, in order, each at its own time.
    ///
    /// Timers scheduled by those calls also run if they become due.
    public func advance(by duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self.advance(byNanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// Moves the clock forward and runs every timer that becomes due, in order, each at its own time.
    public func advance(byNanoseconds nanoseconds: Int64) {
        let target = self.now + max(0, nanoseconds)
        while let work = self.takeDue(by: target) { work() }
        self.state.withLock { $0.now = max($0.now, target) }
    }

    /// Moves the clock to the next timer and runs the timers that are due then.
    ///
    /// - Returns: Whether a timer was pending.
    @discardableResult
    public func advanceToNext() -> Bool {
        guard let delay = self.nextDelay else { return false }
        self.advance(byNanoseconds: delay)
        return true
    }

    /// Sets the wall clock only, as a user or NTP does.
    public func setWall(_ seconds: Int64) {
        self.state.withLock { $0.wallAtZero = seconds - $0.now / 1_000_000_000 }
    }

    private func takeDue(by target: Int64) -> (@Sendable () -> Void)? {
        self.state.withLock { state in
            let next = state.entries.indices.min { left, right in
                (state.entries[left].due, state.entries[left].id) < (state.entries[right].due, state.entries[right].id)
            }
            guard let next, state.entries[next].due <= target else { return nil }
            state.now = max(state.now, state.entries[next].due)
            return state.entries.remove(at: next).work
        }
    }

    fileprivate func cancel(_ id: UInt64) {
        self.state.withLock { $0.entries.removeAll { $0.id == id } }
    }
}

/// One timer of a ``ManualClock``.
private final class ManualTimer: Timer {
    private let clock: ManualClock
    private let id: UInt64

    init(clock: ManualClock, id: UInt64) {
        self.clock = clock
        self.id = id
    }

    func cancel() {
        self.clock.cancel(self.id)
    }
}
