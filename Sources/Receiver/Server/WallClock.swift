internal import TransferCore

/// The date as responses have it, made once a second on each loop.
struct WallClock {
    private var second: Int64 = -1
    private var text = ""

    /// The value of `Date`, and the seconds since 1970.
    mutating func now() -> (seconds: Int64, text: String) {
        let now = Timestamp.now
        if now != self.second {
            self.second = now
            self.text = HTTPDate.format(now)
        }
        return (now, self.text)
    }
}
