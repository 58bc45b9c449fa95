// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// A session's hooks for requests and responses: cookies, credentials, delegates' decisions.
///
/// Called on the lanes, so no method may block. A decision that takes time is passed to a closure later; only the
/// response in question waits for it.
package protocol TransferPolicy: AnyObject, Sendable {
    /// Returns additional fields for one request, such as `Cookie` and `Authorization`.
    ///
    /// A field that the transfer itself sets is not replaced. May be called under a run's lock: must not call the
    /// engine.
    func fields(for request: RequestFacts) -> [(String, String)]

    /// Called with the head of every final response, redirects and challenges included, before it is handled.
    func received(_ head: ResponseHead, to request: RequestFacts)

    /// Called with the connection of a request, if the transport reports connections.
    func uses(_ connection: ConnectionReport, for request: RequestFacts)

    /// Decides about a response.
    ///
    /// - Parameters:
    ///   - question: The decision to make.
    ///   - request: The request of the response.
    ///   - later: Called once with the decision, on any thread, if `nil` was returned.
    /// - Returns: The decision, or `nil` if it is passed to `later`. Reading of the response is paused until then.
    func decide(
        _ question: PolicyQuestion,
        about request: RequestFacts,
        later: @escaping @Sendable (PolicyDecision) -> Void
    ) -> PolicyDecision?

    /// Whether ``decide(after:attempts:userInfo:)`` is called after failed attempts.
    var decidesRetries: Bool { get }

    /// Decides what follows an attempt that failed and could be repeated.
    ///
    /// - Parameters:
    ///   - failure: The failure.
    ///   - attempts: The number of attempts made.
    ///   - userInfo: The value that the caller attached to the transfer.
    /// - Returns: The decision, or `nil` to follow the transfer's options.
    func decide(after failure: TransferFailure, attempts: Int, userInfo: (any Sendable)?) -> RetryDecision?
}

extension TransferPolicy {
    package func uses(_ connection: ConnectionReport, for request: RequestFacts) {}

    package var decidesRetries: Bool { false }

    package func decide(after failure: TransferFailure, attempts: Int, userInfo: (any Sendable)?) -> RetryDecision? {
        nil
    }
}
