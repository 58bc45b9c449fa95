/// Which of the daemon's numbered events were handled, so that a beginning without gaps can be acknowledged.
///
/// Pure value. Events come in the order of their numbers; they are handled in any order.
struct EventLedger {
    /// The number of the last event that came; what is not above it was seen before.
    private(set) var received: Int64
    /// How many holds there are on each event that was not handled yet.
    private var holds: [Int64: Int] = [:]
    private var open: [Int64] = []
    private var first = 0

    /// Creates a ledger for a session of which everything up to a number was acknowledged.
    init(acknowledged: Int64) { self.received = acknowledged }

    /// The last number up to which everything was handled.
    var handled: Int64 { self.first < self.open.count ? self.open[self.first] - 1 : self.received }

    /// Whether everything that came was handled.
    var isSettled: Bool { self.handled == self.received }

    /// An event came.
    ///
    /// - Returns: Whether it is new; then it has one hold.
    mutating func came(_ number: Int64) -> Bool {
        guard number > self.received else { return false }
        self.received = number
        self.holds[number] = 1
        self.open.append(number)
        return true
    }

    /// Somebody more has to do with an event.
    ///
    /// - Returns: Whether that is not handled yet; otherwise there is no hold, and none to release.
    mutating func hold(_ number: Int64) -> Bool {
        guard let count = self.holds[number] else { return false }
        self.holds[number] = count + 1
        return true
    }

    /// One of those who have to do with it is done.
    mutating func release(_ number: Int64) {
        guard let count = self.holds[number] else { return }
        if count > 1 {
            self.holds[number] = count - 1
            return
        }
        self.holds[number] = nil
        while self.first < self.open.count, self.holds[self.open[self.first]] == nil { self.first += 1 }
        if self.first > 1024 || self.first == self.open.count {
            self.open.removeFirst(self.first)
            self.first = 0
        }
    }
}

/// Holds an event as long as somebody has this; see ``EventLedger``.
final class EventHold: Sendable {
    private let release: @Sendable () -> Void

    init(_ release: @escaping @Sendable () -> Void) { self.release = release }

    deinit { self.release() }
}
