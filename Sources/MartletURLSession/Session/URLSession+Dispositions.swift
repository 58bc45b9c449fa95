// SPDX-License-Identifier: Apache-2.0

extension URLSession {
    /// The decision about a response.
    public enum ResponseDisposition: Int, Sendable {
        /// End the task with `URLError.cancelled`.
        case cancel = 0
        /// Receive the body.
        case allow = 1
        /// Receive the body into a file, by a download task.
        case becomeDownload = 2
    }

    /// The decision about a challenge.
    public enum AuthChallengeDisposition: Int, Sendable {
        /// Repeat the request with the credential.
        case useCredential = 0
        /// Use the credential storage's credential; without one, the challenge is the response.
        case performDefaultHandling = 1
        /// End the task with `URLError.cancelled`.
        case cancelAuthenticationChallenge = 2
        /// Use the challenge as the response.
        case rejectProtectionSpace = 3
    }

    /// The decision about a request that was delayed.
    public enum DelayedRequestDisposition: Int, Sendable {
        /// Make the request.
        case continueLoading = 0
        /// Make the request that is passed with this decision.
        case useNewRequest = 1
        /// End the task with `URLError.cancelled`.
        case cancel = 2
    }
}
