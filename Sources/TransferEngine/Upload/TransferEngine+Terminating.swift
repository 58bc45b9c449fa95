// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// Deleting the resources of abandoned uploads at their servers.
extension TransferEngine {
    /// Deletes a cancelled upload at the server, if it has a resource there, and removes its record.
    ///
    /// Returns immediately. If the request does not reach the server, the upload is deleted when it expires.
    func terminate(_ transfer: Transfer) {
        guard case .upload(let upload) = transfer.work else { return }
        let (record, isKnown) = transfer.memory.withLock { memory in
            (memory.upload.record ?? memory.upload.lost, memory.upload.hasReadJournal)
        }
        guard let record else {
            // Without a record, the journal is read unless a run of this process did so.
            return isKnown ? () : self.giveUp(upload.request)
        }
        self.terminate(record, of: transfer)
        if let journal = upload.request.journal { self.pool.run { try? journal.remove() } }
    }

    func terminate(_ record: UploadRecord, of transfer: Transfer) {
        guard case .upload(let upload) = transfer.work else { return }
        transfer.memory.withLock { memory in
            memory.upload.record = nil
            memory.upload.lost = nil
        }
        self.terminate(record, upload.request, transfer.id)
    }

    /// Deletes an upload of no engine at the server, if it has a record, and removes the record.
    ///
    /// Returns immediately.
    package func giveUp(_ request: UploadRequest) {
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
        let flow = RequestFlow(url)
        let facts = RequestFacts(
            id: id,
            userInfo: request.userInfo,
            method: step.method,
            flow: flow,
            source: request.url
        )
        var termination = ExchangeRequest(
            method: step.method,
            url: url,
            fields: request.fields(of: step, flow, describes: false, facts),
            connectTimeout: request.options.connectTimeout.inNanoseconds
        )
        termination.addresses = request.options.addresses
        // The queue is drained only after the response: a program ends when its queue is drained.
        self.state.withLock { $0.machine.terminationStarted() }
        self.transport.execute(onLane: 0) { [termination] in
            let receiver = Termination {
                self.handle { $0.machine.terminationEnded() }
            }
            let exchange = self.transport.start(termination, onLane: 0, receiver: receiver)
            self.time.schedule(after: Termination.timeout) {
                if receiver.end() { exchange.cancel() }
            }
        }
    }
}

/// Receives the response to the request that deletes an upload; its result is ignored.
private final class Termination: ExchangeReceiver {
    private let isOver = Atomic(false)
    private let onEnd: @Sendable () -> Void

    /// In nanoseconds.
    static let timeout: Int64 = 10_000_000_000

    init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    /// Ends the request; returns whether it was running.
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

    func exchangeEnded(trailers: HeaderFields, cleanly: Bool) { self.end() }

    func exchangeFailed(_ error: TransportError) { self.end() }
}
