// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

extension DownloadRequest {
    /// The header fields of one request.
    ///
    /// - Parameters:
    ///   - plan: The request planned by the machine.
    ///   - origin: The origin of the transfer; the caller's private fields are sent only to it.
    ///   - facts: The request, for the policy.
    /// - Returns: The fields, except those of the connection and of the content's framing.
    func fields(for plan: FetchPlan, of origin: Origin, _ facts: () -> RequestFacts) -> HeaderFields {
        let source = self.sources[plan.source]
        let target = plan.origin
        let isOwnOrigin = target == origin && !plan.hasLeftOrigin
        if isOwnOrigin, !source.hasUserInfo, self.isPlain, plan.isPlain { return self.shared.plainRequestFields() }
        var fields = HeaderFields()
        fields.reserve(bytes: 256, lines: 10)
        for own in [self.options.fields, self.fields] where !own.isEmpty {
            for (name, value) in own
            where (isOwnOrigin || RequestFields.travels(name))
                && !(plan.isRewritten && RequestFields.describesContent(name))
            {
                fields.append(name, value)
            }
        }
        if let policy = self.policy {
            for (name, value) in policy.fields(for: facts()) where !fields.contains(name) {
                fields.append(name, value)
            }
        } else if let authorization = RequestFields.basicAuthorization(source), target == source.origin,
            !plan.hasLeftOrigin, !fields.contains("Authorization")
        {
            // A policy responds to the server's challenge instead, possibly with Digest, which hides the password.
            fields.append("Authorization", authorization)
        }
        Self.complete(&fields, range: plan.range, ifRange: plan.ifRange)
        if plan.isConditional {
            for (name, value) in plan.condition + self.conditions where !fields.contains(name) {
                fields.append(name, value)
            }
        }
        return fields
    }

    /// Whether the header fields of its requests are those of its options only.
    private var isPlain: Bool { self.policy == nil && self.fields.isEmpty }

    /// Adds the fields of every request, and those of the range.
    static func complete(_ fields: inout HeaderFields, range: String?, ifRange: String?) {
        if !fields.contains("Accept") { fields.append("Accept", "*/*") }
        // If the caller requests an encoding, the body is stored encoded.
        if !fields.contains("Accept-Encoding") { fields.append("Accept-Encoding", "identity") }
        if let range {
            fields.append("Range", range)
            if let ifRange { fields.append("If-Range", ifRange) }
        } else {
            fields.append("Want-Repr-Digest", "sha-256=10, sha-512=5")
        }
    }
}

extension FetchPlan {
    /// Whether it is for a whole file, with the fields of every such request.
    fileprivate var isPlain: Bool { self.range == nil && !self.isConditional && !self.isRewritten }
}
