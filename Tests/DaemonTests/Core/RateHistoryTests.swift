// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Daemon

@Suite("The rates of the last minutes")
struct RateHistoryTests {
    /// Nanoseconds of a time in seconds.
    private func at(_ seconds: Double) -> Int64 { Int64(seconds * 1e9) }

    @Test("A slot has the mean of its samples once it is complete")
    func mean() {
        var history = RateHistory()
        history.sampled(100, at: self.at(0))
        history.sampled(300, at: self.at(1.9))
        #expect(history.rates == [Int64](repeating: 0, count: RateHistory.count))
        history.sampled(50, at: self.at(2))
        #expect(history.rates.suffix(2) == [0, 200])
        history.sampled(0, at: self.at(4.5))
        #expect(history.rates.suffix(3) == [0, 200, 50])
        #expect(history.rates.count == RateHistory.count)
    }

    @Test("A time without samples has no rate, and only the last slots are kept")
    func gaps() {
        var history = RateHistory()
        history.sampled(8, at: self.at(0))
        history.sampled(6, at: self.at(10))
        #expect(history.rates.suffix(5) == [8, 0, 0, 0, 0])
        history.sampled(4, at: self.at(1e9))
        #expect(history.rates.allSatisfy { $0 == 0 })
        for slot in 0...Int64(RateHistory.count) { history.sampled(slot, at: self.at(2e9) + slot * 2_000_000_000) }
        #expect(history.rates == (0..<Int64(RateHistory.count)).map { $0 })
    }

    @Test("Rates that make no sense neither trap nor count")
    func extremes() {
        var history = RateHistory()
        for _ in 0..<100 { history.sampled(.max, at: self.at(1)) }
        history.sampled(.min, at: self.at(2))
        #expect(history.rates.last == 1 << 50)
        history.sampled(1, at: .max)
        #expect(history.rates.allSatisfy { $0 == 0 })
    }
}
