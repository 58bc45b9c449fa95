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
        plan.requests = self.options.requestTerms(hasPolicy: self.policy != nil)
        plan.notesUnrepeatable = self.noteUnrepeatable != nil
        plan.answerLimit = self.answerLimit ?? (self.receiver == nil ? Self.unreadAnswerLimit : nil)
        plan.answerTime = self.receiver == nil ? Self.unreadAnswerTime.inNanoseconds : nil
        plan.expectsFrom = self.asksFrom
        return plan
    }

    /// Whether a request goes to the upload's own origin, and no redirect has led to another one.
    func isOwnOrigin(_ flow: RequestFlow) -> Bool {
        // Equal URLs are the usual case, and comparing them allocates nothing.
        !flow.hasLeftOrigin && (flow.url == self.url || flow.url.origin == self.url.origin)
    }

    /// The header fields of one of the upload's requests.
    ///
    /// - Parameters:
    ///   - step: The request.
    ///   - flow: The redirects before it, and its URL; the caller's own fields are sent to the origin of ``url`` only.
    ///   - describes: Whether the request carries the content itself, and so the fields that describe it.
    ///   - facts: The request, for the policy.
    /// - Returns: The fields, except those of the connection and of the content's framing.
    func fields(of step: UploadStep, _ flow: RequestFlow, describes: Bool, _ facts: RequestFacts) -> HeaderFields {
        let isOwnOrigin = self.isOwnOrigin(flow)
        var fields = HeaderFields()
        fields.reserve(bytes: 256, lines: 12)
        self.options.addFields(
            self.fields,
            to: &fields,
            isOwnOrigin: isOwnOrigin,
            describesContent: describes,
            except: step.fields
        )
        if describes, !self.type.isEmpty, !fields.contains("Content-Type") { fields.append("Content-Type", self.type) }
        for field in step.fields { fields.append(field.name, field.value) }
        self.options.addAccess(
            to: &fields,
            for: flow.url,
            policy: self.policy,
            user: isOwnOrigin ? self.url : nil
        ) { facts }
        if !fields.contains("Accept") { fields.append("Accept", "*/*") }
        return fields
    }
}
