internal import Synchronization
internal import TransferCore

/// Deleting what servers have of uploads that were given up.
extension TransferEngine {
    /// Deletes a cancelled upload at the server, if it has a resource there, and removes its record.
    ///
    /// Returns at once. A server that the request does not reach deletes the upload when it expires.
    func terminate(_ transfer: Transfer) {
        guard case .upload(let request) = transfer.work else { return }
        let (record, isKnown) = transfer.memory.withLock { memory in
            (memory.upload.record ?? memory.upload.lost, memory.upload.hasReadJournal)
        }
        guard let record else {
            // The transfer has not run in this process.
            return isKnown ? () : self.giveUp(request)
        }
        self.terminate(record, of: transfer)
        if let journal = request.journal { self.pool.run { try? journal.remove() } }
    }

    func terminate(_ record: UploadRecord, of transfer: Transfer) {
        guard case .upload(let request) = transfer.work else { return }
        transfer.memory.withLock { memory in
            memory.upload.record = nil
            memory.upload.lost = nil
        }
        self.terminate(record, request, transfer.id)
    }

    /// Deletes an upload that is in no engine at the server, if it has a record, and removes the record.
    ///
    /// Returns at once.
    public func giveUp(_ request: UploadRequest) {
        self.pool.run {
            let kept: UploadRecord? = (try? request.journal?.read()) ?? nil
            try? request.journal?.remove()
            guard let record = kept ?? request.record, record.endpoint == request.url.withoutUserInfo else { return }
            self.terminate(record, request, TransferID(0))
        }
    }

    private func terminate(_ record: UploadRecord, _ request: UploadRequest, _ id: TransferID) {
        guard let url = try? HTTPURL(record.resource) else { return }
        let step = UploadProtocolMachine.termination(record.speaks, of: url)
        let facts = RequestFacts(
            id: id,
            userInfo: request.userInfo,
            method: step.method,
            url: url,
            source: request.url,
            refusals: 0
        )
        let exchange = ExchangeRequest(
            method: step.method,
            url: url,
            fields: request.fields(of: step, at: url, describes: false, facts),
            connectTimeout: request.options.connectTimeout.inNanoseconds
        )
        // The queue is drained only when the server has responded: a program ends then, and its requests with it.
        self.state.withLock { $0.machine.terminationStarted() }
        self.transport.execute(onLane: 0) {
            let termination = Termination {
                self.handle { $0.machine.terminationEnded() }
            }
            let exchange = self.transport.start(exchange, onLane: 0, receiver: termination)
            self.time.schedule(after: Termination.timeout) {
                if termination.end() { exchange.cancel() }
            }
        }
    }
}

/// Receives the response to the request that deletes an upload; nothing depends on it.
private final class Termination: ExchangeReceiver {
    private let isOver = Atomic(false)
    private let onEnd: @Sendable () -> Void

    /// Nanoseconds.
    static let timeout: Int64 = 10_000_000_000

    init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    /// Ends it; returns whether it was under way.
    @discardableResult
    func end() -> Bool {
        guard !self.isOver.exchange(true, ordering: .acquiringAndReleasing) else { return false }
        self.onEnd()
        return true
    }

    func exchangeConnected() {}

    func exchangeReceived(head: ResponseHead) -> ReadDecision { .read }

    func exchangeReceived(body: UnsafeRawBufferPointer) -> ReadDecision {
        self.end()
        return .close
    }

    func exchangeEnded(trailers: HTTPFields, cleanly: Bool) { self.end() }

    func exchangeFailed(_ error: TransportError) { self.end() }
}
