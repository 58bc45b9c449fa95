internal import Synchronization
internal import TransferCore

/// Deleting what servers have of uploads that were given up.
extension TransferEngine {
    /// Tells the server that a cancelled upload will not go on, where it has a resource, and forgets it.
    ///
    /// Nobody waits for it: a server that does not hear of it lets the upload expire.
    func terminate(_ transfer: Transfer) {
        guard case .upload(let request) = transfer.work else { return }
        let (record, isKnown) = transfer.memory.withLock { memory in
            (memory.upload.record ?? memory.upload.lost, memory.upload.hasReadJournal)
        }
        guard let record else {
            // One that has not run since an earlier process.
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

    /// Tells the server of an upload that no engine has that it will not go on, where something is known of it, and
    /// forgets it.
    ///
    /// Nobody waits for it; returns at once.
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
        let step = UploadMachine.termination(record.speaks, of: url)
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
        self.transport.execute(onLane: 0) {
            let farewell = Farewell()
            let exchange = self.transport.start(exchange, onLane: 0, receiver: farewell)
            self.time.schedule(after: Farewell.patience) {
                if !farewell.isOver { exchange.cancel() }
            }
        }
    }
}

/// Takes the answer to a termination, which changes nothing any more.
private final class Farewell: ExchangeReceiver {
    private let isDone = Atomic(false)

    static let patience: Int64 = 30_000_000_000

    var isOver: Bool { self.isDone.load(ordering: .relaxed) }

    func exchangeConnected() {}

    func exchangeReceived(head: ResponseHead) -> ReadDecision { .read }

    func exchangeReceived(body: UnsafeRawBufferPointer) -> ReadDecision {
        self.isDone.store(true, ordering: .relaxed)
        return .close
    }

    func exchangeEnded(trailers: HTTPFields, cleanly: Bool) { self.isDone.store(true, ordering: .relaxed) }

    func exchangeFailed(_ error: TransportError) { self.isDone.store(true, ordering: .relaxed) }
}
