// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer

/// Limits how fast a client can guess the token, delays the responses to wrong ones, and limits their log messages.
///
/// Pure value: the time is an argument. A client is a network (see `ClientNetwork`). Nothing that one client does affects
/// another one. A program that repeats a few wrong tokens does not guess: only its responses are delayed.
struct WrongTokens: Sendable {
    /// The reaction to a request without a valid token.
    struct Reaction: Sendable, Hashable {
        /// The delay of the response.
        var delay: Duration
        /// The number of failures to log, including this one, or `nil` to log nothing now.
        var logged: Int?
    }

    private struct Record {
        /// The number of failed requests in a row, with less than ``quiet`` between them.
        var failures = 0
        /// The number of different wrong tokens in a row, with less than ``memory`` between them.
        var guesses = 0
        /// The hashes of the last wrong tokens.
        var recent: [Int] = []
        var lastFailure: ContinuousClock.Instant
        var lastGuess: ContinuousClock.Instant
        var refusedUntil: ContinuousClock.Instant
    }

    /// The number of failed requests whose responses are not delayed; each further one adds a tenth of a second.
    static let undelayed = 5
    /// The maximum delay of a response.
    static let longestDelay = Duration.seconds(2)
    /// The time after which failed requests are forgotten.
    static let quiet = Duration.seconds(60)
    /// The number of different wrong tokens after which a client's tokens are refused.
    static let free = 5
    /// The maximum time for which a client's tokens are refused.
    static let longestRefusal = Duration.seconds(60)
    /// The time after which wrong tokens are forgotten.
    static let memory = Duration.seconds(600)
    /// The number of wrong tokens of one client that are recognised when they are repeated.
    static let mostRecent = 4
    /// The maximum number of clients that are remembered.
    static let mostClients = 4096
    private static let betweenLines = Duration.seconds(10)

    private var records: [ClientNetwork: Record] = [:]
    private var lastLine: ContinuousClock.Instant?
    private var unlogged = 0

    /// The number of clients that are remembered.
    var clientCount: Int { self.records.count }

    /// The time for which a client's tokens must not be checked if they can be guessed, or `nil`.
    func refusal(of client: ClientNetwork, at now: ContinuousClock.Instant) -> Duration? {
        guard let until = self.records[client]?.refusedUntil, until > now else { return nil }
        return until - now
    }

    /// A token was checked and is wrong.
    ///
    /// - Parameters:
    ///   - token: A hash of the token that the client cannot predict.
    ///   - client: The client that presented it.
    ///   - now: The current time.
    mutating func guessed(_ token: Int, by client: ClientNetwork, at now: ContinuousClock.Instant) {
        self.update(client, now) { record in
            if now - record.lastGuess > Self.memory { (record.guesses, record.recent) = (0, []) }
            guard !record.recent.contains(token) else { return }
            record.lastGuess = now
            if record.recent.count == Self.mostRecent { record.recent.removeFirst() }
            record.recent.append(token)
            record.guesses = min(record.guesses + 1, 1000)
            let over = record.guesses - Self.free
            if over > 0 { record.refusedUntil = now + min(Self.longestRefusal, .seconds(1 << min(over - 1, 6))) }
        }
    }

    /// A request had no valid token.
    mutating func failed(_ client: ClientNetwork, at now: ContinuousClock.Instant) -> Reaction {
        var reaction = Reaction(delay: .zero)
        self.update(client, now) { record in
            if now - record.lastFailure > Self.quiet { record.failures = 0 }
            record.lastFailure = now
            record.failures = min(record.failures + 1, 1000)
            let over = max(0, record.failures - Self.undelayed)
            reaction.delay = min(Self.longestDelay, .milliseconds(100 * over))
        }
        self.unlogged += 1
        if self.lastLine.map({ now - $0 >= Self.betweenLines }) ?? true {
            reaction.logged = self.unlogged
            self.unlogged = 0
            self.lastLine = now
        }
        return reaction
    }

    private mutating func update(
        _ client: ClientNetwork,
        _ now: ContinuousClock.Instant,
        _ change: (inout Record) -> Void
    ) {
        change(&self.records[client, default: Record(lastFailure: now, lastGuess: now, refusedUntil: now)])
        if self.records.count > Self.mostClients { self.forget() }
    }

    /// Forgets the half of the clients whose last wrong tokens are the oldest.
    private mutating func forget() {
        let latest = { (record: Record) in max(record.lastFailure, record.lastGuess) }
        let limit = self.records.values.map(latest).sorted()[self.records.count / 2]
        self.records = self.records.filter { latest($0.value) > limit }
    }
}
