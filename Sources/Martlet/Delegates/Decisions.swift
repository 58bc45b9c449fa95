/// What to do with a response.
public enum ResponseDecision: Sendable, Hashable {
    /// Take the body.
    case allow
    /// End the task as cancelled.
    case cancel
    /// Take a data task's body to a file: the task goes on as a ``DownloadTask``.
    ///
    /// For a download task the same as `allow`.
    case becomeDownload(to: Destination)
}

/// A redirect that is about to be followed.
public struct Redirect: Sendable {
    /// The response that redirects.
    public let response: HTTPResponse
    /// The URL to ask next.
    public let url: HTTPURL
    /// The method to ask it by; a POST may have become a GET (RFC 9110 §15.4).
    public let method: String
    /// Whether scheme, host or port differ: then credentials, cookies of other domains and the request's own header
    /// fields do not go along.
    public var isToAnotherOrigin: Bool { self.response.url.origin != self.url.origin }
}

/// What to do about a redirect.
public enum RedirectDecision: Sendable, Hashable {
    /// Ask there.
    case follow
    /// Take the redirect for the answer: a data task has its body, a download fails with its status.
    case refuse
    /// End the task as cancelled.
    case cancel
}

/// A server's wish for credentials.
public struct Challenge: Sendable {
    /// Where credentials would go, and what the server calls the part of itself they are for.
    public let protectionSpace: ProtectionSpace
    /// What the server takes, the strongest first; empty where it takes nothing that Martlet knows.
    public let schemes: [String]
    /// How often this task's credentials were refused.
    public let refusals: Int
    /// The response that asks.
    public let response: HTTPResponse
}

/// What to do about a challenge.
public enum ChallengeDecision: Sendable {
    /// Ask again with these credentials.
    case use(Credential, remember: CredentialPersistence = .session)
    /// Leave it to the next delegate; where none is left, fail with the response's status.
    case useDefault
    /// End the task as cancelled.
    case cancel
}

/// How long credentials are remembered, once a server has taken them.
public enum CredentialPersistence: Sendable, Hashable {
    /// For the one task.
    case task
    /// For all tasks of the session, in the same protection space.
    case session
}
