// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Synchronization

/// Checks the tokens of requests.
///
/// A token that cannot be guessed is always checked, so that no client can lock out another one at the same address. One
/// that can be guessed is not checked while its client's tokens are refused, unless its connection is authenticated.
final class TokenGate: Sendable {
    /// The result of a check.
    enum Verdict: Sendable, Hashable {
        case right
        case wrong
        /// Not checked: the client has presented many wrong tokens.
        case refused(Duration)
    }

    private let check: TokenCheck
    private let isGuessable: Bool
    private let clock: @Sendable () -> ContinuousClock.Instant
    private let wrong = Mutex(WrongTokens())

    init(_ token: String, clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.check = TokenCheck(token)
        self.isGuessable = TokenStrength.isGuessable(token)
        self.clock = clock
    }

    /// Checks a token; a right one authenticates the connection.
    func verdict(_ token: String, from sender: TokenSender) -> Verdict {
        let now = self.clock()
        if self.isGuessable, !sender.connection.isAuthenticated,
            let wait = self.wrong.withLock({ $0.refusal(of: sender.client, at: now) })
        {
            return .refused(wait)
        }
        guard self.check.accepts(token) else {
            sender.connection.doubted()
            self.wrong.withLock { $0.guessed(token.hashValue, by: sender.client, at: now) }
            return .wrong
        }
        sender.connection.authenticated()
        return .right
    }

    /// A request had no valid token.
    func failed(_ client: ClientNetwork) -> WrongTokens.Reaction {
        self.wrong.withLock { $0.failed(client, at: self.clock()) }
    }
}

struct TokenSender: Sendable {
    /// The client's address.
    private let peer: String
    var connection: ConnectionStanding

    init(_ request: Request) {
        self.peer = request.peer
        self.connection = request.connection
    }

    /// A sender whose connection carries nothing else; by default without an address.
    init(peer: String = "-") {
        self.peer = peer
        self.connection = ConnectionStanding()
    }

    /// The client's network, which only a token that is wrong or can be guessed needs.
    var client: ClientNetwork { ClientNetwork(self.peer) }
}
