/// Lets something happen so often in a time, and not more.
///
/// No clock: the time comes in as an argument.
struct Frequency: Sendable {
    private let limit: Int
    private let time: Duration
    private var begin: ContinuousClock.Instant?
    private var count = 0

    init(limit: Int, in time: Duration) {
        self.limit = limit
        self.time = time
    }

    /// Whether it may happen now; then it counts.
    mutating func allows(at now: ContinuousClock.Instant) -> Bool {
        if let begin = self.begin, now < begin + self.time {
            guard self.count < self.limit else { return false }
        } else {
            self.begin = now
            self.count = 0
        }
        self.count += 1
        return true
    }
}
