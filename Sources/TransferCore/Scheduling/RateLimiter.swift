// SPDX-License-Identifier: Apache-2.0
/// Spreads bytes over time so that a rate is not exceeded.
///
/// Bytes are charged after they were read; the reader then waits until the limiter has *served* all bytes charged up to
/// and including its own. Readers that share a limiter are served in the order in which they read, and with reads of
/// equal size each gets an equal share; the share of an idle reader goes to the others. An idle limiter accumulates no
/// credit. Reads no clock: monotonic nanoseconds are arguments.
package struct RateLimiter: Sendable {
    /// Bytes per second, or `nil` for no limit.
    package private(set) var rate: Int64?

    private var served: Double = 0
    private var servedAt: Int64 = 0
    private var charged: Double = 0

    package init(rate: Int64? = nil) {
        self.rate = rate
    }

    /// A position in the limiter's queue.
    package struct Ticket: Sendable {
        fileprivate var position: Double
    }

    /// Changes the rate; tickets stay valid, and their waits can be computed again.
    package mutating func setRate(_ rate: Int64?, now: Int64) {
        self.settle(now)
        self.rate = rate
        if rate == nil { self.charged = self.served }
    }

    /// Charges bytes that were read.
    package mutating func charge(_ count: Int, now: Int64) -> Ticket {
        self.settle(now)
        self.charged = max(self.charged, self.served) + Double(count)
        return Ticket(position: self.charged)
    }

    /// The nanoseconds until a ticket's bytes are served, 0 if they already are.
    package func wait(for ticket: Ticket, now: Int64) -> Int64 {
        guard let rate, rate > 0 else { return 0 }
        let passed = Double(max(0, now - self.servedAt)) * Double(rate) / 1e9
        let missing = ticket.position - (self.served + passed)
        return missing <= 0 ? 0 : Int64(min(missing / Double(rate) * 1e9, 3.6e12))
    }

    private mutating func settle(_ now: Int64) {
        if let rate, rate > 0 {
            self.served += Double(max(0, now - self.servedAt)) * Double(rate) / 1e9
        }
        self.servedAt = max(now, self.servedAt)
    }
}
