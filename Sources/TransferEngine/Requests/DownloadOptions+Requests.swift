// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import TransferCore

/// The caller's part of requests, for downloads and uploads: fields, credentials, cookies, and decisions about responses.
extension DownloadOptions {
    /// The terms of each request of a transfer with these options.
    ///
    /// - Parameter hasPolicy: Whether the transfer has a policy.
    /// - Returns: The terms.
    func requestTerms(hasPolicy: Bool = false) -> RequestTerms {
        var terms = RequestTerms()
        terms.redirects = RedirectRule(maximum: self.maximumRedirects, allowsDowngrade: self.allowsDowngrade)
        terms.hasPolicy = hasPolicy
        terms.hasAuthorizer = self.authorizer != nil
        terms.retryStatuses = self.retryStatuses
        terms.mayBeRepeated = self.mayBeRepeated
        terms.acceptsAnyStatus = self.acceptsAnyStatus
        terms.stallTimeout = self.stallTimeout.inNanoseconds
        terms.totalTimeout = self.totalTimeout.inNanoseconds
        return terms
    }

    /// Adds the caller's own fields: all of them at the transfer's own origin, and elsewhere those that describe no user.
    ///
    /// - Parameters:
    ///   - own: The fields of the transfer, which follow those of the options.
    ///   - fields: The fields of the request.
    ///   - isOwnOrigin: Whether the request goes to the transfer's own origin, and no redirect has led to another one.
    ///   - describesContent: Whether the request has the caller's content.
    ///   - replaced: The fields of the request's protocol, which take precedence.
    func addFields(
        _ own: [(String, String)],
        to fields: inout HeaderFields,
        isOwnOrigin: Bool,
        describesContent: Bool,
        except replaced: [UploadStep.Field] = []
    ) {
        for list in [self.fields, own] where !list.isEmpty {
            for (name, value) in list {
                guard isOwnOrigin || RequestFields.travels(name) else { continue }
                guard describesContent || !RequestFields.describesContent(name) else { continue }
                guard !replaced.contains(where: { $0.name.lowercased() == name.lowercased() }) else { continue }
                fields.append(name, value)
            }
        }
    }

    /// Adds the policy's fields, credentials and cookies.
    ///
    /// - Parameters:
    ///   - fields: The fields of the request.
    ///   - url: The URL of the request.
    ///   - policy: The transfer's policy.
    ///   - user: The URL whose user information may be sent, or `nil` for none.
    ///   - facts: The request.
    func addAccess(
        to fields: inout HeaderFields,
        for url: HTTPURL,
        policy: (any TransferPolicy)?,
        user: HTTPURL?,
        _ facts: () -> RequestFacts
    ) {
        if let policy {
            for (name, value) in policy.fields(for: facts()) where !fields.contains(name) { fields.append(name, value) }
        }
        if let authorizer = self.authorizer {
            if !fields.contains("Authorization"), let value = authorizer.authorization(for: facts()) {
                fields.append("Authorization", value)
            }
        } else if policy == nil, let user, !fields.contains("Authorization"),
            let value = RequestFields.basicAuthorization(user)
        {
            // An authorizer or a policy responds to the server's challenge, possibly with Digest, which hides the password.
            fields.append("Authorization", value)
        }
        // The stored cookies come before those that the user gave.
        if let cookies = self.cookies, !cookies.isEmpty, let stored = cookies.field(for: url) {
            fields["Cookie"] = CookieField.merging(stored, given: fields["Cookie"])
        }
    }

    /// Requests a decision about a response from the authorizer, or else from the policy.
    ///
    /// - Parameters:
    ///   - question: The question.
    ///   - request: The request of the response.
    ///   - policy: The transfer's policy.
    ///   - own: The transfer's own fields, if they are sent with the request.
    ///   - later: Called at most once, if `nil` was returned.
    /// - Returns: The decision, or `nil` if it follows.
    func decide(
        _ question: PolicyQuestion,
        about request: RequestFacts,
        policy: (any TransferPolicy)?,
        own: [(String, String)]?,
        later: @escaping @Sendable (PolicyDecision) -> Void
    ) -> PolicyDecision? {
        if case .challenge(let head) = question, let authorizer = self.authorizer {
            // The caller's own field would be sent again, whatever the authorizer has.
            let isOwn = own.map { (self.fields + $0).contains { $0.0.lowercased() == "authorization" } } ?? false
            return !isOwn && authorizer.answers(head, to: request) ? .repeat : .proceed
        }
        guard let policy else { return .proceed }
        // A policy that decides twice must not decide about the next response.
        let first = CallOnce {}
        let decision = policy.decide(question, about: request) { decision in
            if first.now() { later(decision) }
        }
        guard let decision, first.now() else { return nil }
        return decision
    }
}
