// SPDX-License-Identifier: Apache-2.0
/// Slows down callers that guess tokens, and limits the log messages that they cause.
///
/// Pure value: the time is an argument. Callers with a valid token are never slowed down.
package struct FailureThrottle: Sendable {
    /// The reaction to a failure.
    package struct Action: Sendable, Hashable {
        /// The delay of the response.
        package var delay: Duration
        /// The number of failures to log, including this one, or `nil` to log nothing now.
        package var logged: Int?
    }

    /// The number of failures without a delay; each further one adds a tenth of a second.
    package static let free = 5
    /// The maximum delay of a response.
    package static let longest = Duration.seconds(2)
    private static let quiet = Duration.seconds(60)
    private static let betweenLines = Duration.seconds(10)

    private var failures = 0
    private var last: ContinuousClock.Instant?
    private var lastLine: ContinuousClock.Instant?
    private var unlogged = 0

    /// Creates a throttle without failures.
    package init() {}

    /// Records a message without a token or with a wrong one.
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
