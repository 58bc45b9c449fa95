// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import Receiver

@Suite("The limit for guesses")
struct GuessLimiterTests {
    private static let start = ContinuousClock.now

    /// Presents a credential, and reports the result of its check at once; returns whether it was checked.
    private func present(
        _ credential: Int,
        isRight: Bool = false,
        from address: String,
        to limiter: inout GuessLimiter,
        at now: ContinuousClock.Instant
    ) -> Bool {
        guard case .checked(let slot) = limiter.admit(address, credential: credential, at: now) else { return false }
        if isRight {
            limiter.succeeded(address, slot: slot)
        } else {
            limiter.failed(address, credential: credential, at: now)
        }
        return true
    }

    @Test("A network of IPv6 is one address; a program that repeats its old credentials does not guess")
    func addresses() {
        var limiter = GuessLimiter()
        let now = Self.start
        for index in 0..<GuessLimiter.free {
            #expect(self.present(index, from: "2001:db8::\(index)", to: &limiter, at: now))
        }
        #expect(!self.present(100, from: "2001:db8::ffff", to: &limiter, at: now))
        #expect(self.present(100, from: "2001:db8:0:1::1", to: &limiter, at: now))
        #expect(self.present(100, from: "192.0.2.1", to: &limiter, at: now))
        // Not several such programs either, nor beside guesses.
        for index in 0..<50 { #expect(self.present(index % 3, from: "192.0.2.3", to: &limiter, at: now)) }
        for index in 3..<GuessLimiter.free { #expect(self.present(index, from: "192.0.2.3", to: &limiter, at: now)) }
        #expect(!self.present(0, from: "192.0.2.3", to: &limiter, at: now))
        let later = now + GuessLimiter.interval
        for index in 0..<50 { #expect(self.present(index % 3, from: "192.0.2.3", to: &limiter, at: later)) }
        #expect(self.present(1000, isRight: true, from: "192.0.2.3", to: &limiter, at: later))
    }

    @Test("Of credentials that are checked at the same time, one has the second")
    func concurrency() {
        var limiter = GuessLimiter()
        var now = Self.start
        for index in 0..<GuessLimiter.free { _ = self.present(index, from: "10.0.0.1", to: &limiter, at: now) }
        for round in 1...20 {
            now += GuessLimiter.interval
            let admissions = (0..<100).map { limiter.admit("10.0.0.1", credential: round * 1000 + $0, at: now) }
            let slots = admissions.compactMap { if case .checked(let slot) = $0 { slot } else { nil } }
            #expect(slots.count == 1)
            // The connections of one client present the same one.
            for _ in 0..<16 {
                #expect(limiter.admit("10.0.0.1", credential: round * 1000, at: now) == .checked(slot: nil))
            }
            // A slow check: its second is over, another credential has the next one.
            now += GuessLimiter.interval
            guard case .checked(let next?) = limiter.admit("10.0.0.1", credential: -round, at: now) else {
                Issue.record("not checked")
                return
            }
            limiter.succeeded("10.0.0.1", slot: slots.first ?? nil)
            #expect(limiter.admit("10.0.0.1", credential: 1, at: now) != .checked(slot: nil))
            limiter.succeeded("10.0.0.1", slot: next)
            #expect(self.present(-1, isRight: true, from: "10.0.0.1", to: &limiter, at: now))
            if round % 2 == 0 { limiter.failed("10.0.0.1", credential: round * 1000, at: now) }
        }
    }

    @Test("Many addresses have one free guess each, and memory is bounded")
    func manyAddresses() {
        var limiter = GuessLimiter()
        let now = Self.start
        for index in 0..<20_000 {
            let address = "10.\(index >> 16).\(index >> 8 & 255).\(index & 255)"
            #expect(self.present(index, from: address, to: &limiter, at: now + .microseconds(index)))
            if index >= GuessLimiter.freeInTotal {
                #expect(!self.present(-1, from: address, to: &limiter, at: now + .seconds(5)))
            }
        }
        #expect(limiter.addressCount <= GuessLimiter.mostAddresses)
        // An address without failures is not refused.
        #expect(self.present(1, isRight: true, from: "192.0.2.1", to: &limiter, at: now))
        let later = now + .seconds(100)
        for index in 0..<GuessLimiter.free { #expect(self.present(index, from: "10.0.0.1", to: &limiter, at: later)) }
    }

    @Test("One address alone does not slow down others")
    func oneAddress() {
        var limiter = GuessLimiter()
        for index in 0..<600 {
            let now = Self.start + GuessLimiter.interval * index
            #expect(self.present(index, from: "10.0.0.1", to: &limiter, at: now))
            if index % 60 == 30 {
                let other = "10.2.0.\(index / 60)"
                for index in 0..<3 { #expect(self.present(index, from: other, to: &limiter, at: now)) }
            }
        }
    }

    @Test(
        "Random addresses: guesses keep to the limits, right credentials are admitted and change nothing",
        arguments: 0..<40 as Range<UInt64>
    )
    func random(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var limiter = GuessLimiter()
        // Sees no right credential.
        var twin = GuessLimiter()
        // The wrong credentials that were checked.
        var wrong: [Int: [Duration]] = [:]
        var now = Duration.zero
        let addresses = [1, 3, 8, 9].randomElement(using: &random) ?? 1
        for number in 0..<3000 {
            switch random.next() % 20 {
            case 0: now += .seconds(Int64(random.next() % 70))
            case 1 where random.next() % 20 == 0: now += .seconds(601)
            default: now += .milliseconds(Int64(random.next() % 300))
            }
            let instant = Self.start + now
            let address = Int(random.next() % UInt64(addresses))
            let name = "192.0.2.\(address)"
            let mine = wrong[address] ?? []
            let isRight = random.next() % 3 == 0
            // The rule, from the list alone: free ones since the last long pause, then a second after the last one.
            var recent = 0
            for (index, time) in mine.enumerated() {
                recent = index > 0 && time - mine[index - 1] > GuessLimiter.memory ? 1 : recent + 1
            }
            if let last = mine.last, now - last > GuessLimiter.memory { recent = 0 }
            let isAdmitted =
                recent < GuessLimiter.free || now - (mine.last ?? .zero) >= GuessLimiter.interval
            if isRight {
                #expect(self.present(-1, isRight: true, from: name, to: &limiter, at: instant) == isAdmitted)
                continue
            }
            let isChecked = self.present(number, from: name, to: &limiter, at: instant)
            #expect(isChecked == isAdmitted)
            #expect(self.present(number, from: name, to: &twin, at: instant) == isChecked)
            if isChecked { wrong[address, default: []].append(now) }
            if case .refused(let time) = limiter.admit(name, credential: -2, at: instant) {
                #expect(time > .zero && time <= GuessLimiter.interval)
            }
        }
        for times in wrong.values {
            for (first, start) in times.enumerated() {
                for (count, end) in times[first...].prefix(200).enumerated() {
                    #expect(count + 1 <= GuessLimiter.free + Int((end - start).components.seconds))
                }
            }
        }
    }

    @Test("Random addresses, very many: each waits at least ten seconds", arguments: 0..<10 as Range<UInt64>)
    func randomCrowd(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var limiter = GuessLimiter()
        // The last check of each address, and whether many addresses had failed.
        var last: [Int: (time: Duration, isCrowded: Bool)] = [:]
        var checked = 0
        var now = Duration.zero
        for number in 0..<20_000 {
            now += .milliseconds(Int64(random.next() % 4))
            let address = Int(random.next() % 400)
            let name = "10.1.\(address / 256).\(address % 256)"
            let isChecked = self.present(number, from: name, to: &limiter, at: Self.start + now)
            if last[address] == nil { #expect(isChecked) }
            guard isChecked else { continue }
            checked += 1
            if let before = last[address], before.isCrowded {
                #expect(now - before.time >= GuessLimiter.shortestInTotal)
            }
            last[address] = (now, checked > GuessLimiter.freeInTotal)
        }
        // Half a minute: with one per second and address it would be all.
        #expect(checked < 400 * 4)
    }
}
