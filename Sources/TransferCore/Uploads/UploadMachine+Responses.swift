// SPDX-License-Identifier: Apache-2.0
/// Handling responses.
extension UploadMachine {
    /// The connection of a request is established.
    package mutating func connected(_ id: Int, now: Int64) {
        guard var exchange = self.exchange(id) else { return }
        exchange.isConnected = true
        if self.unrepeatable == .prepared { self.unrepeatable = .sent }
        self.flow.lastActivity = now
        self.phase = .requesting(exchange)
    }

    /// An interim response arrived; it does not extend the time for the final one.
    package mutating func interimReceived(_ status: Int, _ fields: HeaderFields, on id: Int) -> [Action] {
        guard let exchange = self.exchange(id) else { return [] }
        guard let resource = self.machine.received(interim: status, fields, from: exchange.request.url) else {
            return []
        }
        return self.remember(resource).map { [$0.action] } ?? []
    }

    /// A final response's head arrived.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - id: The request.
    ///   - now: The time, in nanoseconds.
    ///   - wallNow: The wall time, in seconds since 1970.
    ///   - hasCredentials: Whether the request had credentials.
    /// - Returns: The actions.
    package mutating func headReceived(
        _ head: ResponseHead,
        on id: Int,
        now: Int64,
        wallNow: Int64,
        hasCredentials: Bool = false
    ) -> [Action] {
        guard var exchange = self.exchange(id), exchange.head == nil else { return [] }
        exchange.head = head
        exchange.hasCredentials = hasCredentials
        self.flow.lastActivity = now
        self.phase = .requesting(exchange)
        switch head.status {
        case 301, 302, 303, 307, 308:
            if let location = head.fields["Location"], !location.isEmpty {
                return self.redirected(exchange, head, to: location)
            }
        case 401 where self.plan.hasPolicy || self.plan.hasAuthorizer: return self.challenged(exchange, head, wallNow)
        case 417 where !self.history.refusesExpect:
            self.history.refusesExpect = true
            var request = exchange.request
            request.isRepetition = false
            return self.drain(exchange, head, then: self.isSpent ? .fail(Self.cannotRepeat) : .launch(request))
        default: break
        }
        if let link = head.fields["Share-Link"] { self.link = link }
        if let refusal = exchange.request.refusal { return self.compared(exchange, head, refusal) }
        let action = self.machine.received(head, from: exchange.request.url)
        self.noteProgress()
        return self.act(on: action, exchange, head, wallNow)
    }

    func exchange(_ id: Int) -> Exchange? {
        guard case .requesting(let exchange) = self.phase, exchange.id == id else { return nil }
        return exchange
    }

    private mutating func noteProgress() {
        guard self.kept > self.history.acknowledged else { return }
        self.history.acknowledged = self.kept
        self.hasAdvanced = true
    }

    private mutating func act(
        on action: UploadAction,
        _ exchange: Exchange,
        _ head: ResponseHead,
        _ wallNow: Int64
    ) -> [Action] {
        switch action {
        case .accept: return self.accepted(exchange, head)
        case .judge:
            if self.plan.acceptsAnyStatus { return self.answered(exchange, head) }
            let failure = self.failure(of: head, exchange, wallNow)
            let compares = head.status == 409 && self.plan.method == "PUT" && !self.plan.isStream
            return self.drain(exchange, head, then: compares ? .compare(failure) : .fail(failure))
        case .fail(let fault): return self.drain(exchange, head, then: .fail(Self.failure(fault, head)))
        case .complete, .ask, .remember, .forget: return self.drain(exchange, head, then: .act(action))
        }
    }

    private static func failure(_ fault: UploadFault, _ head: ResponseHead) -> TransferFailure {
        let (code, isRetryable): (TransferFailure.Code, Bool) =
            switch fault.code {
            case .tooLarge: (.tooLarge, false)
            case .brokenProtocol: (.badResponse, false)
            case .notSpoken: (.cannotResume, false)
            case .busy: (.badResponse, true)
            }
        return TransferFailure(code, fault.message, isRetryable: isRetryable, status: head.status)
    }

    private func failure(of head: ResponseHead, _ exchange: Exchange, _ wallNow: Int64) -> TransferFailure {
        var failure = ResponseJudge.failure(
            head,
            retrying: self.plan.retryStatuses,
            wallNow: wallNow,
            hasCredentials: exchange.hasCredentials
        )
        switch head.status {
        case 404: failure.remedy = "check the URL: its resource must accept content"
        case 405: failure.remedy = "this URL does not accept \(self.plan.method); try another method"
        case 409: failure.remedy = "the folder may be missing, or the name may be taken"
        case 412:
            failure.remedy =
                "the file at the server is not in the state that the request asks for; send it without condition"
        case 413: failure.code = .tooLarge
        case 507:
            failure.code = .noSpace
            failure.remedy = "the server has no space left"
        default: break
        }
        return failure
    }

    // MARK: Redirects and challenges

    private mutating func redirected(_ exchange: Exchange, _ head: ResponseHead, to location: String) -> [Action] {
        let request = exchange.request
        let next: HTTPURL
        do throws(TransferFailure) {
            next = try self.plan.redirects.target(of: location, from: request.url, hops: request.hops)
        } catch {
            return self.drain(exchange, head, then: .fail(error))
        }
        let isRewritten = request.isRewritten || Self.isRewritten(request.step, by: head.status)
        guard self.plan.hasPolicy else { return self.follow(exchange, head, to: next, isRewritten: isRewritten) }
        let method = isRewritten ? "GET" : request.step.method
        return self.ask(
            .redirect(head, to: next, method: method),
            for: .redirect(next, isRewritten: isRewritten),
            exchange
        )
    }

    /// Whether a redirect requests the result with a GET without content; a protocol's own requests keep their method.
    private static func isRewritten(_ step: UploadStep, by status: Int) -> Bool {
        guard step.describesContent else { return false }
        return status == 303 || RedirectRule.method(after: step.method, status: status) != step.method
    }

    private mutating func follow(
        _ exchange: Exchange,
        _ head: ResponseHead,
        to next: HTTPURL,
        isRewritten: Bool
    ) -> [Action] {
        if !isRewritten, self.isSpent { return self.drain(exchange, head, then: .fail(Self.cannotRepeat)) }
        let note = Action.note("\(head.status): redirected to \(next.redacted)")
        // The response to a GET does not concern content that the server never received.
        if isRewritten, !self.isWhole(exchange) {
            let failure = TransferFailure(
                .redirects,
                "redirected (\(head.status)) to \(next.redacted) before the server had the content",
                remedy: "it may require a login first; otherwise send to that URL",
                status: head.status
            )
            return [note] + self.drain(exchange, head, then: .fail(failure))
        }
        var request = exchange.request
        request.hasLeftOrigin = request.hasLeftOrigin || next.origin != request.url.origin
        request.url = next
        request.hops += 1
        request.isRewritten = isRewritten
        request.isRepetition = false
        return [note] + self.drain(exchange, head, then: .launch(request))
    }

    /// The maximum number of consecutive credential refusals.
    private static var mostRefusals: Int { 8 }

    private mutating func challenged(_ exchange: Exchange, _ head: ResponseHead, _ wallNow: Int64) -> [Action] {
        let failure = self.failure(of: head, exchange, wallNow)
        guard exchange.request.refusals < Self.mostRefusals else {
            return self.refused(exchange, head, failure)
        }
        return self.ask(.challenge(head), for: .challenge(failure), exchange)
    }

    mutating func ask(_ question: PolicyQuestion, for inquiry: Inquiry, _ exchange: Exchange) -> [Action] {
        var exchange = exchange
        exchange.answer = .asking(inquiry)
        self.phase = .requesting(exchange)
        return [.ask(question, exchange.id)]
    }

    /// The policy has decided about a response.
    package mutating func policyDecided(_ decision: PolicyDecision, on id: Int, now: Int64) -> [Action] {
        guard var exchange = self.exchange(id), case .asking(let inquiry) = exchange.answer, let head = exchange.head
        else { return [] }
        exchange.answer = .awaited
        self.flow.lastActivity = now
        self.phase = .requesting(exchange)
        if case .cancel = decision { return self.end(.cancelled(keeping: false)) }
        let actions: [Action]
        switch (inquiry, decision) {
        case (.redirect(let next, _), .refuse):
            actions = self.refused(exchange, head, RedirectRule.refused(next, status: head.status))
        case (.redirect(let next, let isRewritten), _):
            actions = self.follow(exchange, head, to: next, isRewritten: isRewritten)
        case (.challenge(let failure), .repeat) where self.isSpent:
            // The caller can begin anew with the credentials.
            actions = self.drain(exchange, head, then: .fail(failure))
        case (.challenge, .repeat):
            var request = exchange.request
            request.refusals += 1
            request.isRepetition = false
            actions = self.drain(exchange, head, then: .launch(request))
        case (.challenge(let failure), _): actions = self.refused(exchange, head, failure)
        case (.response, _):
            self.history.isResponseDecided = true
            actions = self.take(exchange, head)
        }
        // A refusal may be asked about once more, as the response.
        guard let next = self.exchange(id) else { return actions }
        if case .asking = next.answer { return actions }
        return actions + [.resumeReading(id)]
    }

    // MARK: Comparing

    /// Requests the digest of an existing resource (RFC 9530 §4).
    ///
    /// If it equals the content's digest, a PUT has nothing left to do (RFC 9110 §9.3.4): the response to an earlier
    /// request was lost, or the caller repeats an upload.
    static var comparison: UploadStep {
        UploadStep("HEAD", .endpoint, ["Want-Repr-Digest": "sha-256=10"])
    }

    private mutating func compared(_ exchange: Exchange, _ head: ResponseHead, _ refusal: TransferFailure) -> [Action] {
        let digest = DigestFields.representation(head.fields).first { $0.algorithm == .sha256 }
        let length = head.fields["Content-Length"].flatMap { Int64($0) }
        guard head.status == 200, let digest, length == self.length else {
            let isOther = head.status == 200 && length.map { $0 != self.length } ?? false
            return self.drain(exchange, head, then: .fail(isOther ? refusal.ofOtherFile : refusal))
        }
        return self.drain(exchange, head, then: .match(digest, refusal: refusal.ofOtherFile))
    }
}
