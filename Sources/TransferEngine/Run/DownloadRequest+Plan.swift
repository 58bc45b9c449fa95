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
        }
        if self.options.authorizer != nil {
            self.options.addCredentials(to: &fields, facts)
        } else if self.policy == nil, let authorization = RequestFields.basicAuthorization(source),
            target == source.origin, !plan.hasLeftOrigin, !fields.contains("Authorization")
        {
            // An authorizer or a policy responds to the server's challenge, possibly with Digest, which hides the password.
            fields.append("Authorization", authorization)
        }
        self.options.addCookies(to: &fields, for: plan.url)
        Self.complete(&fields, range: plan.range, ifRange: plan.ifRange)
        if plan.isConditional {
            for (name, value) in plan.condition + self.conditions where !fields.contains(name) {
                fields.append(name, value)
            }
        }
        return fields
    }

    /// Whether the caller gave the `Authorization` field of a request.
    func givesAuthorization(for plan: FetchPlan, of origin: Origin) -> Bool {
        plan.origin == origin && !plan.hasLeftOrigin
            && (self.options.fields + self.fields).contains { $0.0.lowercased() == "authorization" }
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
        if plan.origin == origin, !plan.hasLeftOrigin, !self.request.sources[plan.source].hasUserInfo,
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

extension DownloadOptions {
    /// Adds the credentials to the fields of a request, unless they have some.
    func addCredentials(to fields: inout HeaderFields, _ facts: () -> RequestFacts) {
        guard let authorizer = self.authorizer, !fields.contains("Authorization"),
            let value = authorizer.authorization(for: facts())
        else { return }
        fields.append("Authorization", value)
    }

    /// Adds the stored cookies to the fields of a request, in front of those that the user gave.
    func addCookies(to fields: inout HeaderFields, for url: HTTPURL) {
        guard let cookies = self.cookies, !cookies.isEmpty, let stored = cookies.field(for: url) else { return }
        fields["Cookie"] = CookieField.merging(stored, given: fields["Cookie"])
    }
}

extension FetchPlan {
    /// Whether it is for a whole file, with the fields of every such request.
    fileprivate var isPlain: Bool { self.range == nil && !self.isConditional && !self.isRewritten }
}
