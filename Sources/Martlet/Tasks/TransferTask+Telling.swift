// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Synchronization
internal import TransferEngine

/// Events from the engine, and their delivery to delegates and sequences.
extension TransferTask {
    /// Handles an event of the task's transfer, on a thread that moves data.
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
        case .response(let response): self.resumed(at: response.resumedFrom, expected: response.expected)
        case .started: self.facts.withLock { $0.waiting = nil }
        case .retrying(let failure, _, let delay):
            let next = SystemClock.now + max(0, (delay + .milliseconds(999)).components.seconds)
            self.waits(WaitReason(after: failure, hold: self.runner.hold(of: self), nextAttempt: next))
        case .paused, .note, .warning, .held, .released, .drained, .missed: break
        }
    }

    /// Reports that the task waits after a failed attempt.
    func waits(_ reason: WaitReason) {
        let sequences = self.facts.withLock { facts in
            facts.waiting = reason
            return facts.sequences
        }
        for sequence in sequences { sequence.mailbox?.put(.waiting(reason)) }
        for member in self.hearers { member.tell { $0.task(self, waits: reason) } }
    }

    /// Reports that a download continues, if bytes of it were present.
    func resumed(at offset: Int64, expected: Int64?) {
        guard offset > 0, let download = self as? DownloadTask else { return }
        let sequences = self.facts.withLock { $0.sequences }
        for sequence in sequences { sequence.mailbox?.put(.resumed(at: offset, expected: expected)) }
        for member in self.hearers { member.tell { $0.task(download, didResumeAt: offset, expected: expected) } }
    }

    /// Stores the head of a response whose body is not delivered.
    func heard(_ response: TransferResponse) {
        self.facts.withLock { $0.latest = response }
    }

    /// Handles a response whose body will be received; the policy calls it.
    func received(_ response: TransferResponse) {
        self.renew(response)
        let sequences = self.facts.withLock { $0.sequences }
        self.relayResponse(response)
        for sequence in sequences { sequence.mailbox?.put(.response(response)) }
    }

    /// Takes the facts of a response; a later one replaces the reported one if the task was suspended meanwhile.
    func renew(_ response: TransferResponse) {
        self.facts.withLock { facts in
            facts.response = response
            // The length in a response to HEAD is that of a body that does not follow.
            facts.bytesExpected = self.request.method == "HEAD" ? 0 : response.expectedLength
            if let body = self.request.body { facts.bytesSent = Int64(body.count) }
            if response.status == 206, !self.request.headers.contains("Range"),
                let begin = response.headers["Content-Range"].flatMap({ ContentRange($0) })?.range?.lowerBound
            {
                // Bytes that an earlier run received are not reported again.
                facts.bytesTold = begin
                facts.bytesReceived = begin
            }
        }
    }

    /// Reports the response of a failure: a response without success is held back when it arrives, as it may be
    /// retried.
    func tellResponse(of failure: TransferFailure) {
        guard let failed = failure.response, self.response == nil else { return }
        self.tell(TransferResponse(url: failed.url, head: failed.head, expectedLength: nil))
    }

    /// Reports a response that no delegate can decide about any more.
    func tell(_ response: TransferResponse) {
        self.received(response)
        for member in self.hearers { member.tell { $0.task(self, didReceive: response) { _ in } } }
    }

    /// The response of the successful end; one whose body is not delivered (304) is reported only now.
    func finalResponse() -> TransferResponse? {
        let (response, latest) = self.facts.withLock { ($0.response, $0.latest) }
        if let response { return response }
        if let latest { self.tell(latest) }
        return latest
    }

    private func tell(_ progress: TransferEvent.Progress) {
        let news: (TransferProgress, [Mailbox.Reference])? = self.facts.withLock { facts in
            if let total = progress.total { facts.bytesExpected = total }
            // Skips a sample taken before the response, or one without new bytes.
            guard facts.response != nil || facts.isAdopted, progress.bytes != facts.bytesTold else { return nil }
            let told = TransferProgress(
                bytesReceived: progress.bytes,
                bytesSinceLast: progress.bytes - facts.bytesTold,
                bytesExpected: progress.total,
                rate: progress.rate,
                secondsLeft: progress.secondsLeft
            )
            facts.bytesTold = progress.bytes
            facts.rate = progress.rate
            // A data task counts bytes as they arrive, and a sample may be older.
            facts.bytesReceived = self is DataTask ? max(facts.bytesReceived, progress.bytes) : progress.bytes
            return (told, facts.sequences)
        }
        guard let (told, sequences) = news else { return }
        for sequence in sequences { sequence.mailbox?.put(.progress(told)) }
        for member in self.hearers {
            let slot = self.facts.withLock { $0.progress[member.identity, default: ProgressSlot()] }
            // Progress that is still undelivered is merged with this one.
            guard slot.put(told) else { continue }
            self.facts.withLock { $0.progress[member.identity] = slot }
            member.tell { delegate in
                if let told = slot.take() { delegate.task(self, didMake: told) }
            }
        }
    }

    /// Reports the last progress, so that observers see the complete size.
    func tellWhole(_ completion: TransferEvent.Completion) {
        let bytes = completion.bytes
        guard self.facts.withLock({ $0.bytesTold != bytes }) else { return }
        let rate = self.lastRate(completion.received, completion.duration)
        self.tell(TransferEvent.Progress(bytes: bytes, total: bytes, rate: rate, secondsLeft: 0, connections: 0))
    }

    /// The rate of the last report, or the average of a transfer that ended before the first one.
    func lastRate(_ bytes: Int64, _ duration: Duration) -> Double {
        let rate = self.facts.withLock { $0.rate }
        return rate > 0 || duration <= .zero ? rate : Double(bytes) / (duration / .seconds(1))
    }

    /// The delegates of this task: the session's, then its own; one that is both is called once.
    var hearers: [DelegateList<any TransferDelegate>.Member] {
        if self.isPrivate { return [] }
        let shared = self.session.delegates.current
        guard let own = self.ownDelegates.withLock({ $0 }) else { return shared }
        return shared + own.current.filter { member in !shared.contains { $0.identity == member.identity } }
    }

    /// Marks the task as ended.
    ///
    /// - Returns: The sequences to notify, or `nil` if the task was already marked.
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
