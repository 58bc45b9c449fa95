// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import TransferCore

/// The value of `Date`, formatted once per second on each connection.
struct DateField {
    private var second: Int64 = -1
    private var text = ""

    /// The current time in seconds since 1970, and the value of `Date`.
    mutating func now() -> (seconds: Int64, text: String) {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let now = Int64(time.tv_sec)
        if now != self.second {
            self.second = now
            self.text = HTTPDate.format(now)
        }
        return (now, self.text)
    }
}
