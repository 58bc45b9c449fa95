// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine

/// A program that decides what follows each failed attempt of a transfer.
///
/// `@unchecked Sendable`: a world runs on one thread.
final class SiteRetrier: TransferPolicy, @unchecked Sendable {
    /// What it decides.
    struct Terms {
        /// The number of attempts after which it gives up.
        var most: Int
        /// The time until the next attempt, in nanoseconds.
        var delay: Int64
    }

    /// Called with the time until the next attempt in nanoseconds, or `nil` for none.
    var onDecision: (Int64?) -> Void = { _ in }
    /// Whether it has decided that no attempt follows.
    private(set) var hasGivenUp = false
    private let terms: Terms

    init(_ terms: Terms) { self.terms = terms }

    var decidesRetries: Bool { true }

    func decide(after failure: TransferFailure, attempts: Int, userInfo: (any Sendable)?) -> RetryDecision? {
        let delay = attempts > self.terms.most ? nil : self.terms.delay
        if delay == nil { self.hasGivenUp = true }
        self.onDecision(delay)
        return delay.map { .retry(after: .nanoseconds($0)) } ?? .fail
    }

    func fields(for request: RequestFacts) -> [(String, String)] { [] }
    func received(_ head: ResponseHead, to request: RequestFacts) {}

    func decide(
        _ question: PolicyQuestion,
        about request: RequestFacts,
        later: @escaping @Sendable (PolicyDecision) -> Void
    ) -> PolicyDecision? {
        .proceed
    }
}
