// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// Adds credentials to requests, and answers the challenges of servers (401).
///
/// Called on the event loops, so no method may block.
package protocol Authorizer: AnyObject, Sendable {
    /// Whether only URLs with user information have credentials so far.
    var isIdle: Bool { get }

    /// Returns the value of the `Authorization` field for a request, or `nil`; may be called under a run's lock.
    func authorization(for request: RequestFacts) -> String?

    /// Decides whether a request is repeated with other credentials after a challenge.
    func answers(_ head: ResponseHead, to request: RequestFacts) -> Bool

    /// Forgets the credentials that an ended transfer has tried.
    func ended(_ id: TransferID)
}
