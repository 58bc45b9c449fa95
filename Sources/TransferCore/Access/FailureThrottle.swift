/// Slows those down who try tokens, and keeps the log from being filled by them.
///
/// Pure value: the time comes in. Callers with the right token are never slowed down.
package struct FailureThrottle: Sendable {
    /// What to do about a failure.
    package struct Action: Sendable, Hashable {
        /// How long the answer is held back.
        package var delay: Duration
        /// The failures to be logged, this one included, or `nil` to log none now.
        package var logged: Int?
    }

    /// Failures that are answered at once; then each tenth of a second counts.
    package static let free = 5
    /// The longest time an answer is held back.
    package static let longest = Duration.seconds(2)
    private static let quiet = Duration.seconds(60)
    private static let betweenLines = Duration.seconds(10)

    private var failures = 0
    private var last: ContinuousClock.Instant?
    private var lastLine: ContinuousClock.Instant?
    private var unlogged = 0

    /// Creates a throttle that has seen no failure.
    package init() {}

    /// A message had no token or a wrong one.
    package mutating func failed(at now: ContinuousClock.Instant) -> Action {
        if let last = self.last, now - last > Self.quiet { self.failures = 0 }
        self.last = now
        self.failures = min(self.failures + 1, 1_000)
        self.unlogged += 1
        let over = max(0, self.failures - Self.free)
        var action = Action(delay: min(Self.longest, .milliseconds(100 * over)), logged: nil)
        if self.lastLine.map({ now - $0 >= Self.betweenLines }) ?? true {
            action.logged = self.unlogged
            self.unlogged = 0
            self.lastLine = now
        }
        return action
    }
}
