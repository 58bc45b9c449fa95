// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

extension UploadRequest {
    /// The number of bytes of a response's body that are read without a receiver, to keep the connection.
    private static let unreadAnswerLimit: Int64 = 1 << 20

    /// The time for which a response's body is read without a receiver.
    private static let unreadAnswerTime = Duration.seconds(30)

    /// The properties that an upload's decisions depend on.
    var plan: UploadPlan {
        var plan = UploadPlan(self.url)
        plan.collection = self.collection
        plan.method = self.method
        plan.way =
            switch self.way {
            case .plain: .plain
            case .automatic: .automatic
            case .by(let speaks): .by(speaks)
            }
        plan.metadata = self.metadata
        plan.checksum = self.checksum
        plan.name = self.name
        if case .stream = self.content { plan.isStream = true }
        plan.hasJournal = self.journal != nil
        plan.record = self.record
        plan.mayBeRepeated = self.options.mayBeRepeated
        plan.acceptsAnyStatus = self.options.acceptsAnyStatus
        plan.notesUnrepeatable = self.noteUnrepeatable != nil
        plan.hasPolicy = self.policy != nil
        plan.hasAuthorizer = self.options.authorizer != nil
        plan.answerLimit = self.answerLimit ?? (self.receiver == nil ? Self.unreadAnswerLimit : nil)
        plan.answerTime = self.receiver == nil ? Self.unreadAnswerTime.inNanoseconds : nil
        plan.expectsFrom = self.asksFrom
        plan.redirects = RedirectRule(
            maximum: self.options.maximumRedirects,
            allowsDowngrade: self.options.allowsDowngrade
        )
        plan.retryStatuses = self.options.retryStatuses
        plan.stallTimeout = self.options.stallTimeout.inNanoseconds
        plan.totalTimeout = self.options.totalTimeout.inNanoseconds
        return plan
    }

    /// Whether the caller gave the `Authorization` field of a request.
    func givesAuthorization(for request: UploadMachine.OutgoingRequest) -> Bool {
        !request.hasLeftOrigin && request.url.origin == self.url.origin
            && (self.options.fields + self.fields).contains { $0.0.lowercased() == "authorization" }
    }

    /// The header fields of one of the upload's requests.
    ///
    /// - Parameters:
    ///   - step: The request.
    ///   - url: Its URL; the caller's own fields are sent to the origin of ``url`` only.
    ///   - hasLeftOrigin: Whether a redirect has led to another origin, so that they are not sent at all.
    ///   - describes: Whether the request carries the content itself, and so the fields that describe it.
    ///   - facts: The request, for the policy.
    /// - Returns: The fields, except those of the connection and of the content's framing.
    func fields(
        of step: UploadStep,
        at url: HTTPURL,
        hasLeftOrigin: Bool = false,
        describes: Bool,
        _ facts: RequestFacts
    ) -> HeaderFields {
        // Equal URLs are the usual case, and comparing them allocates nothing.
        let isOwnOrigin = !hasLeftOrigin && (url == self.url || url.origin == self.url.origin)
        var fields = HeaderFields()
        fields.reserve(bytes: 256, lines: 12)
        func add(_ others: [(String, String)]) {
            for (name, value) in others {
                guard isOwnOrigin || RequestFields.travels(name) else { continue }
                guard describes || !RequestFields.describesContent(name) else { continue }
                guard !step.fields.contains(where: { $0.name.lowercased() == name.lowercased() }) else { continue }
                fields.append(name, value)
            }
        }
        add(self.options.fields)
        add(self.fields)
        if describes, !self.type.isEmpty, !fields.contains("Content-Type") { fields.append("Content-Type", self.type) }
        for field in step.fields { fields.append(field.name, field.value) }
        if let policy {
            for (name, value) in policy.fields(for: facts) where !fields.contains(name) { fields.append(name, value) }
        }
        if self.options.authorizer != nil {
            self.options.addCredentials(to: &fields) { facts }
        } else if self.policy == nil, isOwnOrigin, !fields.contains("Authorization"),
            let value = RequestFields.basicAuthorization(self.url)
        {
            fields.append("Authorization", value)
        }
        self.options.addCookies(to: &fields, for: url)
        if !fields.contains("Accept") { fields.append("Accept", "*/*") }
        return fields
    }
}
