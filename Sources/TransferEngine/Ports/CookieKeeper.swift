// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// Stores the cookies that responses set, and selects those of requests.
///
/// Called on the event loops, so no method may block.
package protocol CookieKeeper: AnyObject, Sendable {
    /// Whether there is no cookie, so that no request needs to be compared with them; takes no lock.
    var isEmpty: Bool { get }

    /// Returns the value of the `Cookie` field for a request to a URL, or `nil`; may be called under a run's lock.
    func field(for url: HTTPURL) -> String?

    /// Stores the cookies of a response.
    ///
    /// - Parameters:
    ///   - values: The values of its `Set-Cookie` fields.
    ///   - url: The URL of its request.
    func receive(_ values: [String], from url: HTTPURL)
}
