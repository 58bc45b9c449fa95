// SPDX-License-Identifier: Apache-2.0
extension TransferResponse {
    /// The decision about a response.
    public enum Decision: Sendable, Hashable {
        /// Receive the body.
        case allow
        /// End the task as cancelled.
        case cancel
        /// Receive a data task's body into a file: the transfer continues as a ``DownloadTask``.
        ///
        /// For a download task this equals `allow`.
        case becomeDownload(to: Destination)
    }
}

/// A redirect that is about to be followed.
public struct Redirect: Sendable {
    /// The redirect response.
    public let response: TransferResponse
    /// The URL of the next request.
    public let url: HTTPURL
    /// The method of the next request; a POST may have become a GET (RFC 9110 §15.4).
    public let method: String
    /// Whether scheme, host or port differ: then credentials, cookies of other domains and the request's own header
    /// fields are not sent.
    public var isToAnotherOrigin: Bool { self.response.url.origin != self.url.origin }
}

extension Redirect {
    /// The decision about a redirect.
    public enum Decision: Sendable, Hashable {
        /// Follow the redirect.
        case follow
        /// Use the redirect as the response: a data task receives its body, a download fails with its status.
        case refuse
        /// End the task as cancelled.
        case cancel
    }
}

/// A server's request for credentials.
public struct Challenge: Sendable {
    /// The server and the realm that the credentials are for.
    public let protectionSpace: ProtectionSpace
    /// The offered schemes, strongest first; empty if Martlet supports none of them.
    public let schemes: [String]
    /// The number of times that the server has refused what delegates supplied for this task and this protection space.
    ///
    /// Credentials of the configuration do not count, nor do those for another realm that were sent ahead.
    public let refusals: Int
    /// The response with the challenge.
    public let response: TransferResponse
}

extension Challenge {
    /// The decision about a challenge.
    public enum Decision: Sendable {
        /// Repeat the request with these credentials.
        case use(Credential, remember: Persistence = .session)
        /// Leave the decision to the next delegate; after the last one, fail with the response's status.
        case useDefault
        /// End the task as cancelled.
        case cancel
    }
}

extension Challenge {
    /// How long credentials are kept after a server has accepted them.
    public enum Persistence: Sendable, Hashable {
        case task
        /// For all tasks of the session, in the same protection space.
        case session
    }
}
