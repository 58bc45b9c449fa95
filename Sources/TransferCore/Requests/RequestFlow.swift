// SPDX-License-Identifier: Apache-2.0
/// The requests that lead from a URL to a final response: redirects, and repetitions with credentials.
///
/// Pure value, used by downloads, uploads and `robots.txt`: the state before one request. A response leads to the state
/// before the next request; a request that is never sent changes nothing. ``DownloadMachine``, ``UploadMachine`` and
/// ``RobotsFetch`` interpret the final response.
///
/// - Source: RFC 9110 §11.6 and §15.4.
package struct RequestFlow: Hashable, Sendable {
    /// The step after a response's head.
    package enum Step: Sendable {
        /// The response is final.
        case final
        /// The next request follows, once the response has been read.
        case next(RequestFlow)
        /// The policy or the authorizer decides.
        case ask(Question)
        /// The redirect must not be followed, whatever a policy says.
        case fail(TransferFailure)
    }

    /// A decision that a policy or an authorizer makes.
    package struct Question: Sendable {
        /// The subject of a question.
        package enum Subject: Hashable, Sendable { case redirect, challenge }

        package let subject: Subject
        package let head: ResponseHead
        /// The request that follows, unless the policy decides otherwise.
        package let next: RequestFlow
        package let method: String

        /// The question as a policy receives it.
        package var asked: PolicyQuestion {
            switch self.subject {
            case .redirect: .redirect(self.head, to: self.next.url, method: self.method)
            case .challenge: .challenge(self.head)
            }
        }

        /// The next request after a decision, or `nil` if the response is final.
        package func next(after decision: PolicyDecision) -> RequestFlow? {
            switch (self.subject, decision) {
            case (.challenge, .repeat): self.next
            case (.redirect, .refuse), (_, .cancel), (.challenge, _): nil
            case (.redirect, _): self.next
            }
        }
    }

    package private(set) var url: HTTPURL
    /// The number of redirects before the request.
    package private(set) var hops = 0
    /// Whether a redirect has led to another origin, which chose the URLs that follow, also those at the first one.
    ///
    /// The caller's own fields and credentials are then sent to no origin.
    package private(set) var hasLeftOrigin = false
    /// Whether a redirect turned the request into one without content, so that the fields describing it are dropped.
    package private(set) var isRewritten = false
    /// The number of consecutive refusals of credentials before the request.
    package private(set) var refusals = 0

    /// The number of refusals (401) after which credentials are not sent again.
    package static var maximumRefusals: Int { 8 }

    /// Starts with a URL.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - hasLeftOrigin: Whether an earlier redirect to another origin chose it.
    package init(_ url: HTTPURL, hasLeftOrigin: Bool = false) {
        self.url = url
        self.hasLeftOrigin = hasLeftOrigin
    }

    /// The method of the request.
    ///
    /// - Parameter original: The method of the flow's first request.
    /// - Returns: The method.
    package func method(_ original: String) -> String {
        self.isRewritten ? "GET" : original
    }

    /// A response's head arrived.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - original: The method of the flow's first request.
    ///   - keepsMethod: Whether a redirect does not change the method: it is part of a protocol, such as tus.
    ///   - terms: The terms of the transfer.
    /// - Returns: The step.
    package func received(
        _ head: ResponseHead,
        method original: String,
        keepsMethod: Bool = false,
        _ terms: borrowing RequestTerms
    ) -> Step {
        if RedirectRule.isRedirect(head.status) {
            guard let location = head.fields["Location"], !location.isEmpty else { return .final }
            var next = self
            do throws(TransferFailure) {
                next.url = try terms.redirects.target(of: location, from: self.url, hops: self.hops)
            } catch {
                return .fail(error)
            }
            next.hops += 1
            next.hasLeftOrigin = self.hasLeftOrigin || next.url.origin != self.url.origin
            if !keepsMethod, RedirectRule.dropsContent(of: self.method(original), status: head.status) {
                next.isRewritten = true
            }
            guard terms.hasPolicy else { return .next(next) }
            return .ask(Question(subject: .redirect, head: head, next: next, method: next.method(original)))
        }
        guard head.status == 401, terms.answersChallenges, self.refusals < Self.maximumRefusals else { return .final }
        var next = self
        next.refusals += 1
        return .ask(Question(subject: .challenge, head: head, next: next, method: self.method(original)))
    }

    /// The note about the redirect that led to the request.
    package func note(after head: ResponseHead) -> String { "\(head.status): redirected to \(self.url.redacted)" }
}
