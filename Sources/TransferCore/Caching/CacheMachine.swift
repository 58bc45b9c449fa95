// SPDX-License-Identifier: Apache-2.0
/// Decides how one exchange of a data task uses the response cache.
///
/// Pure value: it performs no I/O and reads no clock. The driver passes what it has found and received, and performs
/// the returned actions. Times are in seconds since 1970.
///
/// - Source: RFC 9111 §3, §4.
package struct CacheMachine: Sendable {
    /// The next step of the driver.
    package enum Action: Sendable {
        /// Look for a stored response that the request selects.
        case lookUp
        /// Send the request, with these additional fields.
        case forward(conditions: HeaderFields)
        /// Deliver the stored response with this head.
        case serve(ResponseHead)
        /// Fail: nothing usable is stored, and the network must not be used.
        case fail
    }

    /// The reaction to the head of a response from the network.
    package enum HeadAction: Sendable {
        /// Deliver the response. It is stored if it is complete in the end; `nil` stores nothing.
        case deliver(storing: StoredResponse?)
        /// Deliver the response, and remove the stored one, which it has replaced.
        case deliverRemoving
        /// Discard the response; deliver the stored one with this head. Its new head is stored; `nil` removes it.
        case serve(ResponseHead, storing: StoredResponse?)
        /// Discard the response, which confirms another one than the stored; send the request without conditions.
        case refetch
        /// Close the exchange; deliver the stored response with this head.
        case serveStale(ResponseHead)
    }

    private let method: String
    private let fields: HeaderFields
    private let policy: CachePolicy
    /// Whether neither a stored response may be used nor its validator sent.
    private let isBypassed: Bool
    private let mayStore: Bool
    private var stored: (head: StoredResponse, length: Int64)?
    private var isValidating = false
    private var requestTime: Int64 = 0

    /// Creates the machine of an exchange.
    ///
    /// - Parameters:
    ///   - method: The request's method.
    ///   - fields: The request's fields.
    ///   - hasContent: Whether the request has content.
    ///   - policy: The policy.
    package init(method: String, fields: HeaderFields, hasContent: Bool, policy: CachePolicy) {
        self.method = method
        self.fields = fields
        self.policy = policy
        let isReading = (method == "GET" || method == "HEAD") && !hasContent
        let isConditional = Self.conditional.contains { fields.contains($0) }
        self.isBypassed = !isReading || isConditional || CacheControl(fields).has("no-store")
        self.mayStore =
            method == "GET" && isReading && !fields.contains("Range") && !CacheControl(fields).has("no-store")
    }

    private static let conditional = [
        "Range", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range",
    ]

    /// Whether no request may be sent.
    private var mustNotConnect: Bool {
        self.policy == .returnCacheOnly || CacheControl(self.fields).has("only-if-cached")
    }

    /// The exchange begins.
    package mutating func begin(_ now: Int64) -> Action {
        guard self.isBypassed || self.policy == .reloadIgnoringCache else { return .lookUp }
        return self.mustNotConnect ? .fail : self.forward([:], now)
    }

    /// The search has ended.
    ///
    /// - Parameters:
    ///   - found: The stored response that the request selects, and the length of its body in bytes, or `nil`.
    ///   - now: The time.
    /// - Returns: The action.
    package mutating func found(_ found: (head: StoredResponse, length: Int64)?, _ now: Int64) -> Action {
        guard let found else { return self.mustNotConnect ? .fail : self.forward([:], now) }
        let isUsable =
            self.policy != .useProtocolCachePolicy || found.head.isUsable(for: self.fields, at: now)
        if isUsable { return .serve(self.head(found.head, found.length, .cache, now)) }
        if self.mustNotConnect { return .fail }
        self.stored = found
        // A 304 to HEAD would not say which fields the response has now.
        guard self.method == "GET", let conditions = found.head.conditions else { return self.forward([:], now) }
        self.isValidating = true
        return self.forward(HeaderFields(conditions), now)
    }

    private mutating func forward(_ conditions: HeaderFields, _ now: Int64) -> Action {
        self.requestTime = now
        return .forward(conditions: conditions)
    }

    /// The head of the final response has arrived from the network.
    package mutating func headReceived(_ head: ResponseHead, _ now: Int64) -> HeadAction {
        if self.isValidating, head.status == 304, let stored {
            self.isValidating = false
            guard
                let updated = stored.head.freshened(
                    by: head.fields,
                    requestTime: self.requestTime,
                    responseTime: now
                )
            else {
                self.requestTime = now
                return .refetch
            }
            var shown = self.head(updated, stored.length, .validated, now)
            // Not stored, but sent now.
            for value in head.fields.values("Set-Cookie") { shown.fields.append("Set-Cookie", value) }
            let isStorable = StorageRule.isStorable(shown, method: "GET", request: self.fields)
            return .serve(shown, storing: isStorable ? updated : nil)
        }
        if [500, 502, 503, 504].contains(head.status), let stale = self.stale(now) { return .serveStale(stale) }
        guard self.mayStore else { return .deliver(storing: nil) }
        if StorageRule.isStorable(head, method: self.method, request: self.fields) {
            return .deliver(
                storing: StoredResponse(
                    status: head.status,
                    fields: StorageRule.storedFields(head.fields),
                    requestTime: self.requestTime,
                    responseTime: now
                )
            )
        }
        switch head.status {
        // These say nothing about the stored response.
        case 206, 304, 400..<404, 405..<410, 411...: return .deliver(storing: nil)
        default: return .deliverRemoving
        }
    }

    /// The exchange failed before a response.
    ///
    /// - Parameters:
    ///   - code: The kind of failure; only one of the network counts, not for example an invalid certificate.
    ///   - now: The time.
    /// - Returns: The head of the stored response to deliver instead, or `nil` to report the failure.
    package func failed(_ code: TransportError.Code, _ now: Int64) -> ResponseHead? {
        OutageCause(code) == nil ? nil : self.stale(now)
    }

    private func stale(_ now: Int64) -> ResponseHead? {
        guard let stored, stored.head.isUsableAfterError(for: self.fields, at: now) else { return nil }
        return self.head(stored.head, stored.length, .cache, now)
    }

    /// The head of a stored response as it is delivered, with its age (RFC 9111 §5.1).
    private func head(
        _ stored: StoredResponse,
        _ length: Int64,
        _ source: ResponseSource,
        _ now: Int64
    ) -> ResponseHead {
        var fields = stored.fields
        let hasNoContent = stored.status == 204
        if !hasNoContent { fields["Content-Length"] = String(length) }
        fields["Age"] = String(stored.age(at: now) ?? 0)
        var head = ResponseHead(
            status: stored.status,
            fields: fields,
            framing: hasNoContent || self.method == "HEAD" ? .none : .length(length)
        )
        head.source = source
        return head
    }
}
