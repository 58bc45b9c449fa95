// SPDX-License-Identifier: Apache-2.0
import HTTPServer
import Testing
import TransferTesting

@testable import Daemon

@Suite("Wrong tokens")
struct WrongTokensTests {
    private static let start = ContinuousClock.now
    private static let client = ClientNetwork("192.0.2.1")
    private static let other = ClientNetwork("192.0.2.2")

    @Test("a few failures are answered at once, more of them later and later, and a quiet minute forgives")
    func delays() {
        var wrong = WrongTokens()
        for _ in 0..<WrongTokens.undelayed { #expect(wrong.failed(Self.client, at: Self.start).delay == .zero) }
        #expect(wrong.failed(Self.client, at: Self.start).delay == .milliseconds(100))
        #expect(wrong.failed(Self.client, at: Self.start).delay == .milliseconds(200))
        for _ in 0..<10_000 { _ = wrong.failed(Self.client, at: Self.start) }
        #expect(wrong.failed(Self.client, at: Self.start).delay == WrongTokens.longestDelay)
        #expect(wrong.failed(Self.other, at: Self.start).delay == .zero)
        #expect(wrong.failed(Self.client, at: Self.start + .seconds(61)).delay == .zero)
        #expect(wrong.refusal(of: Self.client, at: Self.start) == nil, "a missing token is not a guess")
    }

    @Test("failures are logged at once and then every ten seconds, with their number")
    func lines() {
        var wrong = WrongTokens()
        #expect(wrong.failed(Self.client, at: Self.start).logged == 1)
        #expect(wrong.failed(Self.other, at: Self.start + .seconds(1)).logged == nil)
        #expect(wrong.failed(Self.client, at: Self.start + .seconds(9)).logged == nil)
        #expect(wrong.failed(Self.client, at: Self.start + .seconds(10)).logged == 3)
    }

    @Test("a client that guesses is refused for longer and longer; repeating some wrong tokens is not a guess")
    func refusals() {
        var wrong = WrongTokens()
        for round in 0..<1000 { wrong.guessed(round % WrongTokens.mostRecent, by: Self.client, at: Self.start) }
        #expect(wrong.refusal(of: Self.client, at: Self.start) == nil)
        wrong.guessed(100, by: Self.client, at: Self.start)
        #expect(wrong.refusal(of: Self.client, at: Self.start) == nil)
        var now = Self.start
        for (guess, wait) in [1, 2, 4, 8, 16, 32, 60, 60].enumerated() {
            wrong.guessed(200 + guess, by: Self.client, at: now)
            #expect(wrong.refusal(of: Self.client, at: now) == .seconds(wait))
            #expect(wrong.refusal(of: Self.other, at: now) == nil)
            now += .seconds(wait)
            #expect(wrong.refusal(of: Self.client, at: now) == nil)
        }
        wrong.guessed(300, by: Self.client, at: now + WrongTokens.memory + .seconds(1))
        #expect(wrong.refusal(of: Self.client, at: now + WrongTokens.memory + .seconds(1)) == nil)
    }

    @Test("the clients that are remembered are bounded, and one without wrong tokens is never refused")
    func bounded() {
        var wrong = WrongTokens()
        for index in 0..<20_000 {
            let client = ClientNetwork("2001:db8:\(String(index, radix: 16))::1")
            #expect(wrong.refusal(of: client, at: Self.start) == nil)
            for guess in 0...WrongTokens.free { wrong.guessed(guess, by: client, at: Self.start + .seconds(index)) }
            #expect(wrong.refusal(of: client, at: Self.start + .seconds(index)) != nil)
            #expect(wrong.clientCount <= WrongTokens.mostClients)
        }
    }

    @Test("decides as the complete history of a client does", arguments: 0..<20 as Range<UInt64>)
    func walk(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var wrong = WrongTokens()
        let clients = (0..<3).map { ClientNetwork("10.0.0.\($0)") }
        // The model: all events of each client.
        var guesses: [ClientNetwork: [(time: ContinuousClock.Instant, token: Int)]] = [:]
        var failures: [ClientNetwork: [ContinuousClock.Instant]] = [:]
        var now = Self.start
        for _ in 0..<500 {
            now += .seconds([0, 0, 1, 5, 61, 601][Int.random(in: 0..<6, using: &random)])
            let client = clients[Int.random(in: 0..<3, using: &random)]
            if Bool.random(using: &random) {
                let token = Int.random(in: 0..<12, using: &random)
                wrong.guessed(token, by: client, at: now)
                guesses[client, default: []].append((now, token))
            } else {
                let reaction = wrong.failed(client, at: now)
                failures[client, default: []].append(now)
                let all = failures[client] ?? []
                var run = 1
                while run < all.count, all[all.count - run] - all[all.count - run - 1] <= .seconds(60) { run += 1 }
                #expect(reaction.delay == min(.seconds(2), .milliseconds(100 * max(0, run - 5))))
            }
            for client in clients {
                let until = Self.refusedUntil(guesses[client] ?? [])
                let expected = until.flatMap { $0 > now ? $0 - now : nil }
                #expect(wrong.refusal(of: client, at: now) == expected)
            }
        }
    }

    /// The end of the refusal after a client's wrong tokens.
    private static func refusedUntil(
        _ guesses: [(time: ContinuousClock.Instant, token: Int)]
    ) -> ContinuousClock.Instant? {
        var counted: [(time: ContinuousClock.Instant, token: Int)] = []
        var until: ContinuousClock.Instant?
        for guess in guesses {
            if let last = counted.last, guess.time - last.time > .seconds(600) { counted = [] }
            guard !counted.suffix(4).contains(where: { $0.token == guess.token }) else { continue }
            counted.append(guess)
            guard counted.count > 5 else { continue }
            until = guess.time + .seconds([1, 2, 4, 8, 16, 32, 60][min(counted.count - 6, 6)])
        }
        return until
    }

    @Test("a client is an IPv4 address, or a network of 64 bits")
    func networks() {
        #expect(ClientNetwork("127.0.0.1") == ClientNetwork("::ffff:127.0.0.1"))
        #expect(ClientNetwork("127.0.0.1") != ClientNetwork("127.0.0.2"))
        #expect(ClientNetwork("2001:db8::1") == ClientNetwork("2001:db8::2:0:0:1"))
        #expect(ClientNetwork("2001:db8::1") != ClientNetwork("2001:db8:0:1::1"))
        #expect(ClientNetwork("fe80::1%eth0") == ClientNetwork("fe80::2"))
        #expect(ClientNetwork("0.0.0.1") != ClientNetwork("::1"))
        #expect(ClientNetwork("") == ClientNetwork("-"))
    }

    @Test("short and monotonous tokens can be guessed, generated ones cannot")
    func strength() {
        for token in ["", "a", "secret", "t0p-s3cret", "password1234", String(repeating: "a", count: 1000)] {
            #expect(TokenStrength.isGuessable(token), "\(token)")
        }
        for token in ["f3b1a0c2d4e5968778695a4b3c2d1e0f", "k2Jx-9fQp_71LmZa0vBt", "correct horse battery staple"] {
            #expect(!TokenStrength.isGuessable(token), "\(token)")
        }
    }

    @Test("a token that cannot be guessed is always checked; one that can is refused after wrong ones of its client")
    func gate() {
        for token in ["f3b1a0c2d4e5968778695a4b3c2d1e0f", "weak"] {
            let gate = TokenGate(token, clock: { Self.start })
            func sender(_ address: String) -> TokenSender { TokenSender(peer: address) }
            let known = sender("127.0.0.1")
            #expect(gate.verdict(token, from: known) == .right)
            for guess in 0..<100 { _ = gate.verdict("guess \(guess)", from: sender("127.0.0.1")) }
            let isWeak = token == "weak"
            #expect(gate.verdict(token, from: sender("127.0.0.1")) == (isWeak ? .refused(.seconds(1)) : .right))
            #expect(gate.verdict(token, from: sender("127.0.0.2")) == .right)
            // A connection that was authenticated before is not refused, until it presents a wrong token.
            #expect(gate.verdict(token, from: known) == .right)
            #expect(gate.verdict("guess", from: known) == .wrong)
            #expect(gate.verdict(token, from: known) == (isWeak ? .refused(.seconds(2)) : .right))
        }
    }
}
