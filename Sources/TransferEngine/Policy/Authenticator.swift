// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import Synchronization
package import TransferCore

/// Drives an ``AuthenticationMachine`` for all transfers of an engine.
///
/// Every method may be called on any thread.
package final class Authenticator: Authorizer {
    /// Whether there are credentials at all: most programs never receive a challenge.
    private let isInUse: Atomic<Bool>
    private let machine: Mutex<AuthenticationMachine>

    /// Creates an authenticator.
    ///
    /// - Parameters:
    ///   - sources: The credentials that may be used.
    ///   - hash: Computes digests.
    package init(_ sources: CredentialSources, hash: @escaping DigestAuthentication.Hash) {
        self.isInUse = Atomic(!sources.isEmpty)
        self.machine = Mutex(AuthenticationMachine(sources, hash: hash))
    }

    /// Whether it has no credentials, and no server has required any.
    package var isIdle: Bool { !self.isInUse.load(ordering: .acquiring) }

    /// The Authorization field for a request, or `nil`.
    package func authorization(for request: RequestFacts) -> String? {
        if self.isIdle, !request.source.hasUserInfo { return nil }
        return self.machine.withLock { $0.authorization(for: request, clientNonce: Self.clientNonce) }
    }

    /// Decides about a challenge with the known credentials.
    package func challenged(_ head: ResponseHead, _ request: RequestFacts) -> AuthenticationMachine.Step {
        self.isInUse.store(true, ordering: .releasing)
        return self.machine.withLock { $0.challenged(head, request) }
    }

    /// Decides about a challenge; no delegate supplies credentials.
    package func answers(_ head: ResponseHead, to request: RequestFacts) -> Bool {
        self.challenged(head, request) == .repeat
    }

    /// Uses credentials that a delegate supplied for a challenge.
    ///
    /// - Returns: Whether the server offers a scheme for them, so that the request can be repeated.
    package func use(
        _ credential: Credential,
        _ scope: AuthenticationMachine.Scope,
        for head: ResponseHead,
        _ request: RequestFacts
    ) -> Bool {
        self.machine.withLock { $0.use(credential, scope, for: head, request) }
    }

    /// Forgets the credentials that servers have accepted; those of the configuration stay.
    package func forget() { self.machine.withLock { $0.forget() } }

    /// Forgets the credentials that an ended transfer has tried.
    package func ended(_ id: TransferID) { self.machine.withLock { $0.ended(id) } }

    private static func clientNonce() -> String {
        var random = SystemRandom()
        return Hexadecimal.encode((0..<16).map { _ in UInt8.random(in: 0...255, using: &random) })
    }
}
