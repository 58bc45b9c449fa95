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
        var fields = HeaderFields()
        fields.reserve(bytes: 256, lines: 10)
        self.options.addFields(
            self.fields,
            to: &fields,
            isOwnOrigin: plan.isOwn(origin),
            describesContent: plan.sendsContent
        )
        let user = source.hasUserInfo && plan.isOwn(source.origin) ? source : nil
        self.options.addAccess(to: &fields, for: plan.flow.url, policy: self.policy, user: user, facts)
        Self.complete(&fields, range: plan.range, ifRange: plan.ifRange)
        if plan.isConditional {
            for (name, value) in plan.condition + self.conditions where !fields.contains(name) {
                fields.append(name, value)
            }
        }
        return fields
    }

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

extension Transfer.Download {
    /// The header fields of one request, as ``DownloadRequest/fields(for:of:_:)``.
    ///
    /// A request to which nothing is added has those of all transfers with its options, which are encoded once.
    func fields(for plan: FetchPlan, of origin: Origin, _ facts: () -> RequestFacts) -> HeaderFields {
        if plan.isOwn(origin), !self.request.sources[plan.source].hasUserInfo,
            self.request.policy == nil, self.request.fields.isEmpty, plan.isPlain, !self.request.shared.addsFields
        {
            return self.request.shared.plainRequestFields()
        }
        return self.request.fields(for: plan, of: origin, facts)
    }
}

extension SharedOptions {
    /// Whether the cookies or the credentials may add fields to a request for a URL without user information.
    fileprivate var addsFields: Bool {
        !(self.options.cookies?.isEmpty ?? true) || !(self.options.authorizer?.isIdle ?? true)
    }
}

extension CookieKeeper {
    /// Stores the cookies of a response.
    func receive(of head: ResponseHead, from url: HTTPURL) {
        guard head.fields.contains("Set-Cookie") else { return }
        self.receive(head.fields.values("Set-Cookie"), from: url)
    }
}

extension FetchPlan {
    /// Whether the request goes to an origin, and no redirect has led to another one.
    func isOwn(_ origin: Origin) -> Bool { !self.flow.hasLeftOrigin && self.origin == origin }

    /// Whether it is for a whole file, with the fields of every such request.
    fileprivate var isPlain: Bool { self.range == nil && !self.isConditional && self.sendsContent }
}
