// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// A wall clock; tests can replace it.
package struct CoreClock: Sendable {
    /// Seconds since 1970.
    package var now: @Sendable () -> Double
    /// The minute of the day and the day of the week (0 for Sunday) in local time.
    package var local: @Sendable () -> (minute: Int, weekday: Int)

    /// The system's clock and time zone.
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
    }
}
