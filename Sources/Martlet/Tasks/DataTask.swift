// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Concurrency
internal import Synchronization
internal import TransferEngine

// `@unchecked Sendable`: inherited; every stored property is a constant of a sendable type.
/// A task that receives a body in memory.
public final class DataTask: TransferTask, @unchecked Sendable {
    /// The default maximum size of the body in bytes: 64 MiB.
    public static let defaultMaximum = 64 << 20

    /// The maximum size of the body in bytes.
    public let maximumBytes: Int
    /// Whether the body is collected; otherwise only delegates and sequences receive its bytes.
    public let collectsBody: Bool

    private let promise = Promise<DataResponse>()
    private let body = Mutex<[UInt8]>([])
    /// Receives everything first, on the threads that move data; used for the items of a queue.
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

    /// Waits for the response and its body; the task must have been resumed.
    ///
    /// Cancelling the surrounding Swift task cancels this task.
    ///
    /// - Throws: ``TransferError``, or `CancellationError` if the Swift task was cancelled.
    public var value: DataResponse {
        get async throws { try await self.promise.value(of: self) }
    }

    /// Adds a handler for the task's end, called in the configuration's callback context; there may be several.
    ///
    /// The handlers of one session are called one after another.
    public func onCompletion(_ handler: @escaping @Sendable (Result<DataResponse, TransferError>) -> Void) {
        // Does not capture the task: a task that is never resumed is released together with its handlers.
        self.promise.whenFulfilled { [handlers = self.session.handlers] outcome in handlers.put { handler(outcome) } }
    }

    func whenEnded(_ handler: @escaping @Sendable (Result<DataResponse, TransferError>) -> Void) {
        self.promise.whenFulfilled(handler)
    }

    deinit { self.promise.fulfil(.failure(.cancelled)) }

    // MARK: Body

    /// Receives body bytes on the event loop.
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
                    remedy: "increase the task's maximum, or download to a file"
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
            let taken = self.flow.handed(copy.count)
            member.tell { delegate in
                delegate.task(self, didReceive: copy)
                taken.now()
            }
        }
        // Last, so that a recipient that takes its bytes immediately does not resume a body that has not yet paused.
        return self.flow.admit(copy.count * (sequences.count + members.count + relayed), resume: resume)
    }

    /// Whether `bytes` equal those of the collected body at an offset.
    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
        self.body.withLock { body in
            guard offset >= 0, offset + Int64(bytes.count) <= Int64(body.count) else { return false }
            return body[Int(offset)..<Int(offset) + bytes.count].elementsEqual(bytes)
        }
    }

    override func relayResponse(_ response: TransferResponse) { self.relay?.received(response) }

    // MARK: End

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

    /// Ends the task, whose transfer continues as a download task's.
    func become(_ download: DownloadTask) {
        self.control.withLock { $0 = .ended }
        let error = TransferError(.becameDownload, "the task continued as download task \(download.id)")
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

/// Receives the response, the bytes and the end of a data task, on the threads that move data.
protocol DataRelay: AnyObject, Sendable {
    func received(_ response: TransferResponse)

    /// - Returns: The number of recipients that will take the bytes and release them at the gate.
    func received(_ bytes: [UInt8], _ flow: FlowGate) -> Int

    func ended(_ outcome: Result<DataResponse, TransferError>)
}

/// Passes a transfer's body to its task without keeping a strong reference to the task.
final class DataSink: BodyReceiver {
    private weak let task: DataTask?

    init(_ task: DataTask) { self.task = task }

    func receive(
        _ bytes: UnsafeRawBufferPointer,
        resume: @escaping @Sendable () -> Void
    ) throws(TransferFailure) -> Bool {
        guard let task = self.task else { throw TransferFailure(.unknown, "the task was released") }
        return try task.receive(bytes, resume: resume)
    }

    var keepsBytes: Bool { self.task?.collectsBody ?? false }

    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
        self.task?.holds(bytes, at: offset) ?? false
    }
}
