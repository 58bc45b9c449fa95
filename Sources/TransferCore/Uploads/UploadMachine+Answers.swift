// SPDX-License-Identifier: Apache-2.0
/// The bodies of responses, and what follows them.
extension UploadMachine {
    /// The response reports that the upload is complete.
    mutating func accepted(_ exchange: Exchange, _ head: ResponseHead) -> [Action] {
        guard self.isWhole(exchange) else {
            let failure = TransferFailure(
                .badResponse,
                "the server responded with \(head.status) before it had received the whole content",
                isRetryable: true,
                status: head.status
            )
            return self.drain(exchange, head, then: .fail(failure))
        }
        return self.answered(exchange, head)
    }

    /// Takes a response, once the policy has decided about it.
    mutating func answered(_ exchange: Exchange, _ head: ResponseHead) -> [Action] {
        guard self.plan.requests.hasPolicy, !self.history.isResponseDecided else { return self.take(exchange, head) }
        return self.ask(.response(head, length: ResponseJudge.length(head)), for: .response, exchange)
    }

    /// Handles a status other than success: the failure of the attempt, or the result.
    mutating func refused(
        _ exchange: Exchange,
        _ head: ResponseHead,
        _ failure: TransferFailure
    ) -> [Action] {
        if self.plan.requests.acceptsAnyStatus { return self.answered(exchange, head) }
        return self.drain(exchange, head, then: .fail(failure))
    }

    mutating func take(_ exchange: Exchange, _ head: ResponseHead) -> [Action] {
        var exchange = exchange
        exchange.answer = .taking
        self.traffic.answerBegan = self.traffic.lastActivity
        self.phase = .requesting(exchange)
        self.hasAdvanced = true
        return [.reportResponse(head)]
    }

    /// Discards the rest of an unwanted response, if that keeps its connection open, then performs the next step.
    mutating func drain(_ exchange: Exchange, _ head: ResponseHead, then next: Next) -> [Action] {
        let keepsPrefix: Bool
        let mayRead: Bool
        switch next {
        case .fail:
            keepsPrefix = self.plan.requests.hasPolicy || Self.isText(head)
            mayRead = self.plan.requests.hasPolicy && head.framing != .none
        case .compare:
            keepsPrefix = Self.isText(head)
            mayRead = false
        default: (keepsPrefix, mayRead) = (false, false)
        }
        // The connection can carry another request only after the rest of the content, which is not wanted.
        guard mayRead || self.isWhole(exchange),
            let draining = Draining(head, keepsPrefix: keepsPrefix, then: next)
        else { return [.cancel(exchange.id)] + self.perform(next, exchange, prefix: []) }
        var exchange = exchange
        exchange.answer = .draining(draining)
        self.phase = .requesting(exchange)
        return []
    }

    /// Bytes of a response's body arrived.
    package mutating func bodyReceived(_ bytes: UnsafeRawBufferPointer, on id: Int, now: Int64) -> BodyHandling {
        guard var exchange = self.exchange(id) else { return .discard }
        self.traffic.lastActivity = now
        switch exchange.answer {
        case .awaited, .asking: return .discard
        case .taking:
            let isLong = self.plan.answerLimit.map { self.traffic.received >= $0 } ?? false
            let isLate = self.plan.answerTime.map { now - self.traffic.answerBegan > $0 } ?? false
            guard !isLong, !isLate else {
                // The upload has succeeded regardless of the body, which may be endless.
                self.phase = .betweenRequests
                return .perform([.cancel(id)] + self.finish(status: exchange.head?.status))
            }
            self.traffic.received += Int64(bytes.count)
            return .deliver
        case .draining(var draining):
            let continues = draining.take(bytes)
            exchange.answer = .draining(draining)
            self.phase = .requesting(exchange)
            if continues { return .discard }
            return .perform([.cancel(id)] + self.perform(draining.next, exchange, prefix: draining.prefix))
        }
    }

    /// A response is complete.
    package mutating func responseEnded(_ id: Int) -> [Action] {
        guard let exchange = self.exchange(id) else { return [] }
        switch exchange.answer {
        case .awaited, .asking: return []
        case .draining(let draining): return self.perform(draining.next, exchange, prefix: draining.prefix)
        case .taking:
            self.phase = .betweenRequests
            // The rest of a content that the server has refused is not sent.
            let rest: [Action] = self.isWhole(exchange) ? [] : [.cancel(id)]
            return rest + self.finish(status: exchange.head?.status)
        }
    }

    /// Performs the step that follows a response.
    mutating func perform(_ next: Next, _ exchange: Exchange, prefix: [UInt8]) -> [Action] {
        self.phase = .betweenRequests
        switch next {
        case .fail(var failure):
            failure.message += Self.explanation(exchange, prefix)
            // The response to a comparison does not explain the failure.
            if self.plan.requests.hasPolicy, exchange.request.refusal == nil, let head = exchange.head {
                failure.response = FailedResponse(url: exchange.request.flow.url, head: head, prefix: prefix)
            }
            return self.attemptFailed(exchange, failure)
        case .launch(let request): return self.launch(request)
        case .act(let action): return self.perform(action)
        case .compare(var refusal):
            refusal.message += Self.explanation(exchange, prefix)
            let flow = RequestFlow(self.plan.url)
            return self.launch(Boxed(Request(step: Self.comparison, flow: flow, refusal: refusal)))
        case .match(let digest, let refusal):
            guard let length = self.length else { return self.end(.failed(refusal)) }
            self.phase = .comparing(digest, refusal: refusal)
            return [.computeDigest(digest.algorithm, 0..<length)]
        }
    }

    private mutating func perform(_ action: UploadAction) -> [Action] {
        switch action {
        case .ask(let step): return self.launch(step)
        case .remember(let resource, let step):
            guard let write = self.remember(resource) else { return self.launch(step) }
            self.phase = .writingJournal(number: write.number, next: step)
            return [write.action]
        case .forget(let step):
            // A server also reports this to a client that is not allowed to see the resource.
            self.history.lost = self.history.record
            self.history.record = nil
            return [.note("the server no longer has the upload: it restarts")] + self.launch(step)
        case .complete: return self.finish(status: nil)
        case .accept, .judge, .fail: preconditionFailure("\(action) is decided with the head")
        }
    }

    private static func isText(_ head: ResponseHead) -> Bool {
        head.status >= 400 && head.fields["Content-Type"]?.lowercased().hasPrefix("text/plain") == true
    }

    /// The server's explanation of its refusal, if that is one line of plain text.
    private static func explanation(_ exchange: Exchange, _ prefix: [UInt8]) -> String {
        guard let head = exchange.head, self.isText(head),
            let line = String(validating: prefix.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self),
            1...200 ~= line.count, !line.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return "" }
        return ": \(line)"
    }
}

extension TransferFailure {
    /// The refusal of an upload by a server that has another file of this name.
    var ofOtherFile: TransferFailure {
        var failure = self
        failure.code = .fileExists
        failure.remedy =
            "the server has another file of this name: choose another name in the URL, delete it there, or let the server "
            + "replace files ('martlet serve --overwrite')"
        return failure
    }
}
