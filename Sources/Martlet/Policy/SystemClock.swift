// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// The system's real-time clock.
enum SystemClock {
    /// Seconds since 1970-01-01T00:00:00Z.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec)
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    static var microseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int(time.tv_sec) * 1_000_000 + Int(time.tv_nsec) / 1000
    }

    /// Minutes since midnight, local time.
    static var minuteOfDay: Int {
        var seconds = time(nil)
        var local = tm()
        localtime_r(&seconds, &local)
        return Int(local.tm_hour) * 60 + Int(local.tm_min)
    }
}
