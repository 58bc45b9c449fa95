// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Synchronization
internal import TransferEngine

// `@unchecked Sendable`: inherited; every stored property is a constant of a sendable type.
/// A task that sends a file, bytes, a sequence or a form, and receives the response in memory.
///
/// Sent bytes are counted in ``TransferTask/bytesSent`` and ``TransferTask/bytesExpectedToSend``.
public final class UploadTask: TransferTask, @unchecked Sendable {
    /// The maximum size of the response body in bytes: 16 MiB.
    public static let defaultMaximum = 16 << 20

    /// How the upload resumes after an interruption.
    public let resumption: Resumption

    let body: UploadBody
    let checksum: DigestAlgorithm?
    let keeper: RecordKeeper
    private let promise = Promise<DataResponse>()
    private let answer = Mutex<[UInt8]>([])

    init(
        id: Int,
        request: TransferRequest,
        session: TransferSession,
        isPrivate: Bool,
        body: UploadBody,
        resumption: Resumption,
        checksum: DigestAlgorithm?,
        record: UploadRecord?
    ) {
        self.body = body
        self.resumption = resumption
        self.checksum = checksum
        self.keeper = RecordKeeper(record)
        super.init(id: id, request: request, session: session, isPrivate: isPrivate)
    }

    /// Waits for the response; the task must have been resumed.
    ///
    /// Cancelling the surrounding Swift task cancels this task.
    ///
    /// - Throws: ``TransferError``, or `CancellationError` if the Swift task was cancelled.
    public var value: DataResponse {
        get async throws {
            self.session.beginDelivery()
            return try await self.promise.value(of: self)
        }
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

    /// Data from which another task can resume: for a single file sent by a resumable protocol and not yet complete.
    ///
    /// It is available once the server has reported the upload's location, and after a failure. In a background session
    /// it is `nil`: the daemon resumes the upload.
    public var resumeData: UploadResumeData? {
        guard let path = self.body.path, let record = self.keeper.current else { return nil }
        return UploadResumeData(path: path, record: record)
    }

    /// Cancels the task, keeps the data that the server has, and returns data from which another task can resume.
    ///
    /// - Returns: `nil` if nothing can be resumed.
    public func cancelKeepingUpload() async -> UploadResumeData? {
        if self.state == .ended { return nil }
        self.cancel(keeping: true)
        _ = await self.promise.outcome()
        return self.resumeData
    }

    deinit { self.promise.fulfil(.failure(.cancelled)) }

    // MARK: The response

    /// Receives body bytes on the event loop.
    fileprivate func receive(_ bytes: UnsafeRawBufferPointer) throws(TransferFailure) {
        let isTooLarge = self.answer.withLock { answer in
            guard answer.count + bytes.count <= Self.defaultMaximum else { return true }
            answer.append(contentsOf: bytes)
            return false
        }
        guard isTooLarge else { return self.facts.withLock { $0.bytesReceived += Int64(bytes.count) } }
        throw TransferFailure(.tooLarge, "the response has more than \(Self.defaultMaximum) bytes")
    }

    /// Discards the body of a response that was interrupted.
    fileprivate func forgetAnswer() {
        let count = self.answer.withLock { answer in
            defer { answer = [] }
            return answer.count
        }
        self.facts.withLock { $0.bytesReceived -= Int64(count) }
    }

    /// Stores a response that an earlier run of the program received.
    func recall(_ response: TransferResponse) {
        self.facts.withLock { facts in if facts.response == nil { facts.response = response } }
    }

    /// Stores the whole body that the daemon kept.
    func take(answer bytes: [UInt8]) {
        self.answer.withLock { $0 = bytes }
        self.facts.withLock { $0.bytesReceived = Int64(bytes.count) }
    }

    /// Reports a progress sample.
    func tell(sent progress: TransferEvent.Progress) {
        let news: (UploadProgress, [Mailbox.Reference])? = self.facts.withLock { facts in
            guard !facts.isEnded, progress.bytes != facts.bytesSent || facts.bytesSent == 0 else { return nil }
            let told = UploadProgress(
                bytesSent: progress.bytes,
                bytesSinceLast: progress.bytes - facts.bytesSent,
                bytesExpected: progress.total,
                bytesAcknowledged: progress.acknowledged,
                bytesSentByTask: progress.sent ?? progress.bytes,
                rate: progress.rate,
                secondsLeft: progress.secondsLeft
            )
            facts.bytesSent = progress.bytes
            facts.rate = progress.rate
            if let total = progress.total { facts.bytesToSend = total }
            return (told, facts.sequences)
        }
        guard let (told, sequences) = news else { return }
        for sequence in sequences { sequence.mailbox?.put(.sent(told)) }
        for member in self.hearers { member.tell { $0.task(self, didSend: told) } }
    }

    // MARK: End

    override func succeed(_ completion: TransferEvent.Completion) {
        if self.facts.withLock({ $0.bytesSent != completion.bytes }) {
            // Observers see the complete size.
            var whole = TransferEvent.Progress(
                bytes: completion.bytes,
                total: completion.bytes,
                rate: self.lastRate(completion.sent ?? completion.bytes, completion.duration),
                secondsLeft: 0,
                connections: 0
            )
            whole.sent = completion.sent
            self.tell(sent: whole)
        }
        let body = self.answer.withLock { answer in
            defer { answer = [] }
            return answer
        }
        // A server that already had all bytes has responded only to a status request.
        let response =
            self.finalResponse()
            ?? TransferResponse(
                url: self.request.url,
                head: ResponseHead(status: 204, fields: [:], framing: .none),
                expectedLength: 0
            )
        self.end(.success(DataResponse(response: response, body: body)))
    }

    override func fail(_ error: TransferError) { self.end(.failure(error)) }

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

/// Passes a response's body to its task without keeping a strong reference to the task.
final class AnswerSink: AnswerReceiver {
    private weak let task: UploadTask?

    init(_ task: UploadTask) { self.task = task }

    func take(_ bytes: UnsafeRawBufferPointer) throws(TransferFailure) {
        guard let task = self.task else { throw TransferFailure(.unknown, "the task was released") }
        try task.receive(bytes)
    }

    func beginAnew() { self.task?.forgetAnswer() }
}
