// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// Formats times, in UTC.
enum Timestamp {
    /// `2026-11-22T01:02:03Z` (RFC 3339).
    static func text(_ seconds: Int64) -> String { self.make(seconds, "%Y-%m-%dT%H:%M:%SZ") }

    /// `2026-11-22 01:02`.
    static func plain(_ seconds: Int64) -> String { self.make(seconds, "%Y-%m-%d %H:%M") }

    /// `20261122-010203`, for file names.
    static func compact(_ seconds: Int64) -> String { self.make(seconds, "%Y%m%d-%H%M%S") }

    /// `22/Nov/2026:01:02:03 +0000`, the format of the Common Log Format.
    static func log(_ seconds: Int64) -> String { self.make(seconds, "%d/%b/%Y:%H:%M:%S +0000") }

    /// The current time, in seconds since 1970.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec)
    }

    private static func make(_ seconds: Int64, _ format: String) -> String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let base = buffer.baseAddress, strftime(base, buffer.count, format, &parts) > 0 else { return "" }
            return String(cString: base)
        }
    }
}
