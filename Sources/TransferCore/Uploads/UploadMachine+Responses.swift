// SPDX-License-Identifier: Apache-2.0
/// Handling responses.
extension UploadMachine {
    /// The connection of a request is established.
    package mutating func connected(_ id: Int, now: Int64) {
        guard var exchange = self.exchange(id) else { return }
        exchange.isConnected = true
        if self.unrepeatable == .prepared { self.unrepeatable = .sent }
        self.traffic.lastActivity = now
        self.phase = .requesting(exchange)
    }

    /// An interim response arrived; it does not extend the time for the final one.
    package mutating func interimReceived(_ status: Int, _ fields: HeaderFields, on id: Int) -> [Action] {
        guard let exchange = self.exchange(id) else { return [] }
        guard let resource = self.machine.received(interim: status, fields, from: exchange.request.flow.url) else {
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
        self.traffic.lastActivity = now
        self.wallNow = wallNow
        self.phase = .requesting(exchange)
        let step = exchange.request.step
        let next = exchange.request.flow.received(
            head,
            method: step.method,
            keepsMethod: !step.describesContent,
            self.plan.requests
        )
        switch next {
        case .next(let flow): return self.send(flow, after: head, exchange)
        case .ask(let question): return self.ask(question.asked, for: .request(question), exchange)
        case .fail(let failure): return self.drain(exchange, head, then: .fail(failure))
        case .final: return self.finalHead(head, exchange)
        }
    }

    /// Handles the head of a response after which its flow sends no other request.
    private mutating func finalHead(_ head: ResponseHead, _ exchange: Exchange) -> [Action] {
        if head.status == 417, !self.history.refusesExpect {
            self.history.refusesExpect = true
            if self.isSpent { return self.drain(exchange, head, then: .fail(Self.cannotRepeat)) }
            return self.drain(exchange, head, then: .launch(exchange.successor(exchange.request.flow)))
        }
        if let link = head.fields["Share-Link"] { self.link = link }
        if let refusal = exchange.request.refusal { return self.compared(exchange, head, refusal) }
        let action = self.machine.received(head, from: exchange.request.flow.url)
        self.noteProgress()
        return self.act(on: action, exchange, head)
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
        _ head: ResponseHead
    ) -> [Action] {
        switch action {
        case .accept: return self.accepted(exchange, head)
        case .judge:
            if self.plan.requests.acceptsAnyStatus { return self.answered(exchange, head) }
            let failure = self.failure(of: head, exchange)
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

    private func failure(of head: ResponseHead, _ exchange: Exchange) -> TransferFailure {
        var failure = ResponseJudge.failure(
            head,
            retrying: self.plan.requests.retryStatuses,
            wallNow: self.wallNow,
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

    // MARK: The flow's next request

    /// Sends the flow's next request, once the response has been read.
    private mutating func send(_ flow: RequestFlow, after head: ResponseHead, _ exchange: Exchange) -> [Action] {
        let isRedirect = flow.hops > exchange.request.flow.hops
        if !flow.isRewritten, self.isSpent {
            // The caller can begin anew with the credentials.
            let failure = isRedirect ? Self.cannotRepeat : self.failure(of: head, exchange)
            return self.drain(exchange, head, then: .fail(failure))
        }
        let note: [Action] = isRedirect ? [.note(flow.note(after: head))] : []
        // The response to a GET does not concern content that the server never received.
        if flow.isRewritten, !self.isWhole(exchange) {
            let failure = TransferFailure(
                .redirects,
                "redirected (\(head.status)) to \(flow.url.redacted) before the server had the content",
                remedy: "it may require a login first; otherwise send to that URL",
                status: head.status
            )
            return note + self.drain(exchange, head, then: .fail(failure))
        }
        return note + self.drain(exchange, head, then: .launch(exchange.successor(flow)))
    }

    /// The policy does not let the next request be sent: the response is final.
    private mutating func refused(_ question: RequestFlow.Question, _ exchange: Exchange) -> [Action] {
        let failure =
            switch question.subject {
            case .challenge: self.failure(of: question.head, exchange)
            case .redirect: RedirectRule.refused(question.next.url, status: question.head.status)
            }
        return self.refused(exchange, question.head, failure)
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
        self.traffic.lastActivity = now
        self.phase = .requesting(exchange)
        if case .cancel = decision { return self.end(.cancelled(keeping: false)) }
        let actions: [Action]
        switch inquiry {
        case .request(let question):
            if let next = question.next(after: decision) {
                actions = self.send(next, after: head, exchange)
            } else {
                actions = self.refused(question, exchange)
            }
        case .response:
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
