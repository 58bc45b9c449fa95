/// What a policy is asked.
package enum PolicyQuestion: Sendable {
    /// The first response whose body is to be taken came; asked once for each transfer.
    ///
    /// `proceed` takes it, `divert` takes it to a file instead of to memory, `cancel` ends the transfer.
    case response(ResponseHead, length: Int64?)
    /// The server redirects to this URL, asked by this method.
    ///
    /// `proceed` follows, `refuse` takes the redirect for the answer, `cancel` ends the transfer.
    case redirect(ResponseHead, to: HTTPURL, method: String)
    /// The server wants credentials (401).
    ///
    /// `repeat` asks again, with what `fields(for:)` gives then, `proceed` fails with the status, `cancel` ends.
    case challenge(ResponseHead)
}

/// What a policy decides.
package enum PolicyDecision: Sendable {
    /// As if there were no policy.
    case proceed
    /// Do not follow.
    case refuse
    /// Ask the same again.
    case `repeat`
    /// Take the body to a file.
    case divert(Diversion)
    /// End the transfer as cancelled.
    case cancel
}

/// Where a body goes that was to go to memory.
package struct Diversion: Sendable {
    /// The file's directory.
    package var directory: String
    /// The file's name, or `nil` to take it from the response or the URL.
    package var name: String?
    /// What to do where the name is taken.
    package var ifExists: IfExistsRule

    /// Creates a diversion.
    package init(directory: String, name: String?, ifExists: IfExistsRule) {
        self.directory = directory
        self.name = name
        self.ifExists = ifExists
    }
}
