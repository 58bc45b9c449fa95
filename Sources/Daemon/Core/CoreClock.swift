// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// The clocks of the core; tests and simulations can replace them.
package struct CoreClock: Sendable {
    /// Seconds since 1970.
    package var now: @Sendable () -> Double
    /// The minute of the day and the day of the week (0 for Sunday) in local time.
    package var local: @Sendable () -> (minute: Int, weekday: Int)
    /// Nanoseconds of a monotonic clock.
    package var uptime: @Sendable () -> Int64
    /// Suspends the task for a time, or until it is cancelled.
    package var sleep: @Sendable (Duration) async -> Void

    /// The system's clocks and time zone.
    package init() {
        self.now = {
            Double(FileCalls.nanoseconds(of: CLOCK_REALTIME)) / 1e9
        }
        self.local = {
            var seconds = time(nil)
            var parts = tm()
            localtime_r(&seconds, &parts)
            return (Int(parts.tm_hour) * 60 + Int(parts.tm_min), Int(parts.tm_wday))
        }
        let beginning = ContinuousClock.now
        self.uptime = {
            let time = (ContinuousClock.now - beginning).components
            return time.seconds * 1_000_000_000 + time.attoseconds / 1_000_000_000
        }
        self.sleep = { try? await Task.sleep(for: $0) }
    }
}
