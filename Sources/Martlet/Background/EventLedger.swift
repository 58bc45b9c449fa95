// SPDX-License-Identifier: Apache-2.0
/// Tracks which of the daemon's numbered events were handled, to acknowledge them without gaps.
///
/// Pure value. Events arrive in the order of their numbers and are handled in any order.
struct EventLedger {
    /// The number of the last event received; lower numbers were seen before.
    private(set) var received: Int64
    /// The number of holds on each unhandled event.
    private var holds: [Int64: Int] = [:]
    private var open: [Int64] = []
    private var first = 0

    /// Creates a ledger for a session whose events up to a number were acknowledged.
    init(acknowledged: Int64) { self.received = acknowledged }

    /// The highest number up to which all events are handled.
    var handled: Int64 { self.first < self.open.count ? self.open[self.first] - 1 : self.received }

    /// Whether all received events are handled.
    var isSettled: Bool { self.handled == self.received }

    /// Records an event.
    ///
    /// - Returns: Whether it is new; then it has one hold.
    mutating func came(_ number: Int64) -> Bool {
        guard number > self.received else { return false }
        self.received = number
        self.holds[number] = 1
        self.open.append(number)
        return true
    }

    /// Adds a hold to an event.
    ///
    /// - Returns: Whether the event is still unhandled; otherwise no hold is added, and none must be released.
    mutating func hold(_ number: Int64) -> Bool {
        guard let count = self.holds[number] else { return false }
        self.holds[number] = count + 1
        return true
    }

    /// Releases one hold of an event; the event is handled when it has none left.
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
