internal import Synchronization
internal import TransferEngine

/// What the engine tells a task, and whom the task tells.
extension TransferTask {
    /// An event of the task's transfer, on a thread that moves data.
    func received(_ event: TransferEvent) {
        switch event.kind {
        case .progress(let progress):
            if let upload = self as? UploadTask { upload.tell(sent: progress) } else { self.tell(progress) }
        case .finished(let completion):
            self.isOver.store(true, ordering: .releasing)
            self.succeed(completion)
        case .failed(let failure):
            self.isOver.store(true, ordering: .releasing)
            self.tellResponse(of: failure)
            self.failed(failure, event.target)
        case .cancelled:
            self.isOver.store(true, ordering: .releasing)
            self.wasCancelled(event.target)
        case .started, .response, .retrying, .paused, .note, .held, .released, .drained, .missed: break
        }
    }

    /// The head of a response came whose body nobody will take.
    func heard(_ response: HTTPResponse) {
        self.facts.withLock { $0.latest = response }
    }

    /// What the policy heard: a response whose body will be taken.
    func received(_ response: HTTPResponse) {
        let sequences = self.facts.withLock { facts in
            facts.response = response
            facts.bytesExpected = response.expectedLength
            if let body = self.request.body { facts.bytesSent = Int64(body.count) }
            if response.status == 206, !self.request.headers.contains("Range"),
                let begin = response.headers["Content-Range"].flatMap({ ContentRange($0) })?.range?.lowerBound
            {
                // What an earlier run has brought is no news.
                facts.bytesTold = begin
                facts.bytesReceived = begin
            }
            return facts.sequences
        }
        self.relayResponse(response)
        for sequence in sequences { sequence.mailbox?.put(.response(response)) }
    }

    /// A response that is no success was not told when it came, for it might have been asked again.
    private func tellResponse(of failure: TransferFailure) {
        guard let failed = failure.response, self.response == nil else { return }
        self.tell(HTTPResponse(url: failed.url, head: failed.head, expectedLength: nil))
    }

    /// Tells of a response about which nobody can decide any more.
    func tell(_ response: HTTPResponse) {
        self.received(response)
        for member in self.hearers { member.tell { $0.task(self, didReceive: response) { _ in } } }
    }

    /// The response that the transfer ended well with; one without a body to take (304) is told only now.
    func finalResponse() -> HTTPResponse? {
        let (response, latest) = self.facts.withLock { ($0.response, $0.latest) }
        if let response { return response }
        if let latest { self.tell(latest) }
        return latest
    }

    private func tell(_ progress: TransferEvent.Progress) {
        let news: (TransferProgress, [Mailbox.Reference])? = self.facts.withLock { facts in
            if let total = progress.total { facts.bytesExpected = total }
            // A sample of a transfer that still waits for its response, or has got nothing since, is no news.
            guard facts.response != nil || facts.isAdopted, progress.bytes != facts.bytesTold else { return nil }
            let told = TransferProgress(
                bytesReceived: progress.bytes,
                bytesSinceLast: progress.bytes - facts.bytesTold,
                bytesExpected: progress.total,
                rate: progress.rate,
                secondsLeft: progress.secondsLeft
            )
            facts.bytesTold = progress.bytes
            // A data task counts as its bytes come, and a sample may be older.
            facts.bytesReceived = self is DataTask ? max(facts.bytesReceived, progress.bytes) : progress.bytes
            return (told, facts.sequences)
        }
        guard let (told, sequences) = news else { return }
        for sequence in sequences { sequence.mailbox?.put(.progress(told)) }
        for member in self.hearers {
            let slot = self.facts.withLock { $0.progress[member.identity, default: ProgressSlot()] }
            // One that has not heard of the last one yet hears of both at once.
            guard slot.put(told) else { continue }
            self.facts.withLock { $0.progress[member.identity] = slot }
            member.tell { delegate in
                if let told = slot.take() { delegate.task(self, didMake: told) }
            }
        }
    }

    /// Tells the last of the progress, so that who watches it sees the whole.
    func tellWhole(_ bytes: Int64) {
        guard self.facts.withLock({ $0.bytesTold != bytes }) else { return }
        self.tell(TransferEvent.Progress(bytes: bytes, total: bytes, rate: 0, secondsLeft: 0, connections: 0))
    }

    /// Those who hear of this task.
    var hearers: [DelegateList<any TransferDelegate>.Member] {
        if self.isPrivate { return [] }
        let shared = self.session.delegates.current
        guard let own = self.ownDelegates.withLock({ $0 }) else { return shared }
        return shared + own.current
    }

    /// Marks the end.
    ///
    /// - Returns: The sequences to tell, or `nil` where it was marked before.
    func markEnded(_ error: TransferError?) -> [Mailbox]? {
        self.facts.withLock { facts in
            guard !facts.isEnded else { return nil }
            facts.isEnded = true
            facts.error = error
            defer { facts.sequences = [] }
            return facts.sequences.compactMap(\.mailbox)
        }
    }
}
