// SPDX-License-Identifier: Apache-2.0
/// A decision requested from a policy.
package enum PolicyQuestion: Sendable {
    /// The first response with a wanted body arrived; requested once per transfer.
    ///
    /// `proceed` accepts it, `divert` receives it into a file instead of memory, `cancel` ends the transfer.
    case response(ResponseHead, length: Int64?)
    /// The server redirects to this URL, which will be requested with this method.
    ///
    /// `proceed` follows it, `refuse` uses the redirect as the response, `cancel` ends the transfer.
    case redirect(ResponseHead, to: HTTPURL, method: String)
    /// The server requires credentials (401).
    ///
    /// `repeat` repeats the request with new fields from `fields(for:)`, `proceed` fails with the status, `cancel`
    /// ends.
    case challenge(ResponseHead)
}

package enum PolicyDecision: Sendable {
    /// Continue as without a policy.
    case proceed
    /// Do not follow the redirect.
    case refuse
    /// Repeat the request.
    case `repeat`
    /// Receive the body into a file.
    case divert(Diversion)
    /// End the transfer as cancelled.
    case cancel
}

/// The new destination of a body that was to be received in memory.
package struct Diversion: Sendable {
    /// The file's directory.
    package var directory: String
    /// The file's name, or `nil` to take it from the response or the URL.
    package var name: String?
    /// The rule for a name that is taken.
    package var ifExists: IfExistsRule

    /// Creates a diversion.
    package init(directory: String, name: String?, ifExists: IfExistsRule) {
        self.directory = directory
        self.name = name
        self.ifExists = ifExists
    }
}

/// What follows a failed attempt, as the program decides.
package enum RetryDecision: Hashable, Sendable {
    /// Another attempt after a delay, whatever the options and the server say.
    case retry(after: Duration)
    /// None.
    case fail
}
