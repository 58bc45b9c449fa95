// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Limits, budgets and states")
struct LimitTests {
    private static let second: Int64 = 1_000_000_000

    @Test(
        "over five seconds readers together stay within 5 % of the rate",
        arguments: [10_000, 1_000_000, 100_000_000]
    )
    func rateIsAccurate(rate: Int) {
        var limiter = RateLimiter(rate: Int64(rate))
        let quantum = min(max(512, rate / 20 / 3), 65_536)
        var readyAt: [Int64] = [0, 0, 0]
        var bytes = [0, 0, 0]
        while let reader = readyAt.indices.min(by: { readyAt[$0] < readyAt[$1] }), readyAt[reader] < 5 * Self.second {
            let now = readyAt[reader]
            let ticket = limiter.charge(quantum, now: now)
            bytes[reader] += quantum
            readyAt[reader] = now + max(1, limiter.wait(for: ticket, now: now))
        }
        let total = Double(bytes.reduce(0, +))
        #expect(abs(total / Double(5 * rate) - 1) < 0.05)
        #expect(Double(bytes.max() ?? 0) / Double(bytes.min() ?? 1) < 1.05)
    }

    @Test("an idle limiter saves nothing up")
    func noCredit() {
        var limiter = RateLimiter(rate: 1000)
        let ticket = limiter.charge(1000, now: 100 * Self.second)
        #expect(limiter.wait(for: ticket, now: 100 * Self.second) == Self.second)
    }

    @Test("a rate changed during a wait changes the wait")
    func liveChange() {
        var limiter = RateLimiter(rate: 1000)
        let ticket = limiter.charge(2000, now: 0)
        #expect(limiter.wait(for: ticket, now: 0) == 2 * Self.second)
        limiter.setRate(2000, now: Self.second)
        #expect(limiter.wait(for: ticket, now: Self.second) == Self.second / 2)
        limiter.setRate(nil, now: Self.second)
        #expect(limiter.wait(for: ticket, now: Self.second) == 0)
    }

    @Test("the budget ends where every answer is cut at the same place")
    func budgetEnds() {
        var budget = RetryBudget(retries: 3)
        var attempts = 0
        budget.kept(500)
        while budget.failed(retryAfter: nil, jitter: 0.5) != nil {
            attempts += 1
            budget.kept(500)
            #expect(attempts < 10)
        }
        #expect(attempts == 3)
    }

    @Test("a new high-water mark refills the budget")
    func budgetRefills() {
        var budget = RetryBudget(retries: 1)
        for mark in 1...50 {
            let result61 = budget.failed(retryAfter: nil, jitter: 0.5) != nil
            #expect(result61)
            budget.kept(Int64(mark))
        }
    }

    @Test("Retry-After is obeyed and capped")
    func retryAfter() {
        var budget = RetryBudget(retries: 3)
        let result70 = budget.failed(retryAfter: 7, jitter: 0.5) == 7 * Self.second
        #expect(result70)
        let result71 =
            budget.failed(retryAfter: Int64.max, jitter: 0.5) == RetryBudget.longestRetryAfter * Self.second
        #expect(result71)
        let result72 = budget.failed(retryAfter: -5, jitter: 0.5) == 0
        #expect(result72)
    }

    @Test("no ended state has a way out, and none leads to itself")
    func states() {
        let all: [TransferState] = [
            .waiting, .running, .retrying(at: 1), .paused, .finished, .failed, .cancelled,
        ]
        for from in all {
            for to in all where from.isEnded || from == to { #expect(!from.allows(to)) }
        }
        #expect(TransferState.waiting.allows(.running))
        #expect(!TransferState.waiting.allows(.finished))
        #expect(!TransferState.paused.allows(.running))
    }

    @Test("more connections are kept only while each helps by a quarter")
    func advisor() {
        var advisor = ConnectionAdvisor(most: 4)
        var bytes: Int64 = 0
        var now: Int64 = 0
        for _ in 0..<100 {
            // One connection brings 10 MB/s, two bring 20, three bring no more than two.
            let speed = Int64(min(advisor.wanted, 2)) * 10_000_000
            bytes += speed / 5
            now += Self.second / 5
            advisor.observe(bytes: bytes, connections: advisor.wanted, now: now)
        }
        #expect(advisor.wanted == 2)
    }

    @Test("a window measures the rate of its span, not of all the past")
    func window() {
        var window = RateWindow(span: 3 * Self.second)
        var bytes: Int64 = 0
        for step in 0..<100 {
            window.record(bytes, at: Int64(step) * Self.second / 5)
            bytes += step < 80 ? 100 : 1000
        }
        #expect(abs(window.rate - 5000) < 500)
    }

    @Test("names are taken once, and numbers count up")
    func names() {
        var names = NameRegistry()
        let target = FileTarget(directory: ".", name: "a")
        let result117 = names.take(target)
        #expect(result117)
        let result118 = !names.take(target)
        #expect(result118)
        let result119 = names.number(for: target) == 1
        #expect(result119)
        let result120 = names.number(for: target) == 2
        #expect(result120)
        names.release(target)
        let result122 = names.take(target)
        #expect(result122)
    }
}
