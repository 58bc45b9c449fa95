internal import Synchronization
internal import TransferEngine

/// A task that brings a body into memory.
public final class DataTask: TransferTask, @unchecked Sendable {
    /// The most bytes of body that are kept where nothing else is said: 64 MiB.
    public static let defaultMaximum = 64 << 20

    /// The most bytes of body that are kept.
    public let maximumBytes: Int
    /// Whether the body is collected; otherwise only delegates and sequences hear of its bytes.
    public let collectsBody: Bool

    private let promise = Promise<DataResponse>()
    private let body = Mutex<[UInt8]>([])
    /// Hears of everything first, on the threads that move data: what a queue's item is.
    private let relay: (any DataRelay)?

    init(
        id: Int,
        request: TransferRequest,
        session: TransferSession,
        isPrivate: Bool,
        maximumBytes: Int,
        collectsBody: Bool,
        relay: (any DataRelay)?
    ) {
        self.maximumBytes = maximumBytes
        self.collectsBody = collectsBody
        self.relay = relay
        super.init(id: id, request: request, session: session, isPrivate: isPrivate)
    }

    /// The response and its body, once they are there; the task must have been resumed.
    ///
    /// Where the surrounding Swift task is cancelled, so is this one.
    ///
    /// - Throws: ``TransferError``, or `CancellationError` where the Swift task was cancelled.
    public var value: DataResponse {
        get async throws { try await self.promise.value(of: self) }
    }

    /// Calls a handler with the task's end, in the configuration's callback context; any number of handlers is kept.
    ///
    /// The handlers of one session are called one after the other.
    public func onCompletion(_ handler: @escaping @Sendable (Result<DataResponse, TransferError>) -> Void) {
        // Without the task: one that is never resumed goes away with its handlers.
        self.promise.whenFulfilled { [handlers = self.session.handlers] outcome in handlers.put { handler(outcome) } }
    }

    func whenEnded(_ handler: @escaping @Sendable (Result<DataResponse, TransferError>) -> Void) {
        self.promise.whenFulfilled(handler)
    }

    deinit { self.promise.fulfil(.failure(.cancelled)) }

    // MARK: The body

    /// Takes bytes on the lane.
    func receive(
        _ bytes: UnsafeRawBufferPointer,
        resume: @escaping @Sendable () -> Void
    ) throws(TransferFailure) -> Bool {
        if self.collectsBody {
            let isTooLarge = self.body.withLock { body in
                guard body.count + bytes.count <= self.maximumBytes else { return true }
                if body.isEmpty, let expected = self.facts.withLock({ $0.bytesExpected }) {
                    body.reserveCapacity(Int(min(expected, Int64(self.maximumBytes))))
                }
                body.append(contentsOf: bytes)
                return false
            }
            if isTooLarge {
                throw TransferFailure(
                    .tooLarge,
                    "the body has more than \(self.maximumBytes) bytes",
                    remedy: "raise the task's maximum, or download it to a file"
                )
            }
        }
        let sequences = self.facts.withLock { facts in
            facts.bytesReceived += Int64(bytes.count)
            return facts.sequences.isEmpty ? [] : facts.sequences.compactMap(\.mailbox)
        }
        let members = self.hearers
        guard !sequences.isEmpty || !members.isEmpty || self.relay != nil else { return true }
        let copy = Array(bytes)
        let relayed = self.relay?.received(copy, self.flow) ?? 0
        for sequence in sequences { sequence.put(.data(copy)) }
        for member in members {
            let taken = HandedBytes(self.flow, copy.count)
            member.tell { delegate in
                delegate.task(self, didReceive: copy)
                taken.end()
            }
        }
        // Last, so that a hearer who takes its bytes at once does not resume what has not paused yet.
        return self.flow.admit(copy.count * (sequences.count + members.count + relayed), resume: resume)
    }

    /// Whether bytes are those of the body at an offset.
    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
        self.body.withLock { body in
            guard offset >= 0, offset + Int64(bytes.count) <= Int64(body.count) else { return false }
            return body[Int(offset)..<Int(offset) + bytes.count].elementsEqual(bytes)
        }
    }

    override func relayResponse(_ response: HTTPResponse) { self.relay?.received(response) }

    // MARK: The end

    override func succeed(_ completion: TransferEvent.Completion) {
        let body = self.body.withLock { body in
            defer { body = [] }
            return body
        }
        guard let response = self.finalResponse() else {
            return self.fail(TransferError(.unknown, "the transfer ended without a response"))
        }
        self.end(.success(DataResponse(response: response, body: body)))
    }

    override func fail(_ error: TransferError) {
        self.body.withLock { $0 = [] }
        self.end(.failure(error))
    }

    /// The transfer goes on as a download's.
    func become(_ download: DownloadTask) {
        self.control.withLock { $0 = .ended }
        let error = TransferError(.becameDownload, "the task went on as download task \(download.id)")
        guard let sequences = self.markEnded(error) else { return }
        for sequence in sequences {
            sequence.put(.failed(error))
            sequence.close()
        }
        self.promise.fulfil(.failure(error))
        for member in self.hearers { member.tell { $0.task(self, didBecome: download) } }
        self.session.forget(self)
    }

    private func end(_ outcome: Result<DataResponse, TransferError>) {
        var error: TransferError?
        if case .failure(let failure) = outcome { error = failure }
        guard let sequences = self.markEnded(error) else { return }
        let event: TaskEvent =
            switch outcome {
            case .success(let response): .finished(.data(response))
            case .failure(let failure): .failed(failure)
            }
        for sequence in sequences {
            sequence.put(event)
            sequence.close()
        }
        self.relay?.ended(outcome)
        self.promise.fulfil(outcome)
        for member in self.hearers { member.tell { $0.task(self, didEndWith: outcome) } }
        self.session.forget(self)
    }

    override func tellEnd(to mailbox: Mailbox) {
        self.promise.whenFulfilled { outcome in
            switch outcome {
            case .success(let response): mailbox.put(.finished(.data(response)))
            case .failure(let error): mailbox.put(.failed(error))
            }
        }
    }
}

/// Hears of a data task on the threads that move data.
protocol DataRelay: AnyObject, Sendable {
    func received(_ response: HTTPResponse)

    /// - Returns: How many will take the bytes and count them with the gate.
    func received(_ bytes: [UInt8], _ flow: FlowGate) -> Int

    func ended(_ outcome: Result<DataResponse, TransferError>)
}

/// Hands a transfer's body to its task without keeping the task.
final class BodySink: BodyReceiver {
    private weak let task: DataTask?

    init(_ task: DataTask) { self.task = task }

    func receive(
        _ bytes: UnsafeRawBufferPointer,
        resume: @escaping @Sendable () -> Void
    ) throws(TransferFailure) -> Bool {
        guard let task = self.task else { throw TransferFailure(.unknown, "the task is gone") }
        return try task.receive(bytes, resume: resume)
    }

    var keepsBytes: Bool { self.task?.collectsBody ?? false }

    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
        self.task?.holds(bytes, at: offset) ?? false
    }
}
