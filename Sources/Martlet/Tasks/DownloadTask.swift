internal import Synchronization
internal import TransferEngine

/// A task that brings a body into a file.
public final class DownloadTask: TransferTask, @unchecked Sendable {
    /// Where the file goes.
    public let destination: Destination

    /// The place that the engine writes to; a temporary one is the task's own.
    let place: DownloadPlace

    private let promise = Promise<DownloadedFile>()

    init(
        id: Int,
        request: TransferRequest,
        session: TransferSession,
        isPrivate: Bool,
        destination: Destination,
        place: DownloadPlace
    ) {
        self.destination = destination
        self.place = place
        super.init(id: id, request: request, session: session, isPrivate: isPrivate)
    }

    /// The file, once it is whole; the task must have been resumed.
    ///
    /// A temporary file is this caller's: it is deleted when it lets go of it. Where the task has delegates or handlers and
    /// has ended before, a temporary file was theirs, and this throws `fileWasHandedOut`. Where the surrounding Swift task
    /// is cancelled, so is this one.
    ///
    /// - Throws: ``TransferError``, or `CancellationError` where the Swift task was cancelled.
    public var value: DownloadedFile {
        get async throws {
            self.session.beginDelivery()
            return try await self.promise.value(of: self)
        }
    }

    /// Calls a handler with the task's end, in the configuration's callback context; any number of handlers is kept.
    ///
    /// The handlers of one session are called one after the other.
    ///
    /// A file in a temporary place is deleted when the handler returns, unless it was moved or kept.
    public func onCompletion(_ handler: @escaping @Sendable (Result<DownloadedFile, TransferError>) -> Void) {
        // Without the task: one that is never resumed goes away with its handlers.
        self.promise.whenFulfilled { [handlers = self.session.handlers] outcome in handlers.put { handler(outcome) } }
    }

    func whenEnded(_ handler: @escaping @Sendable (Result<DownloadedFile, TransferError>) -> Void) {
        self.promise.whenFulfilled(handler)
    }

    /// Cancels the task, keeps what it has gathered, and gives what ``TransferSession/download(resuming:)`` goes on from.
    ///
    /// - Returns: `nil` where nothing can be gone on from: nothing received yet, a small file, or ended already.
    public override func cancelProducingResumeData() async -> ResumeData? {
        if self.state == .ended { return nil }
        self.cancel(keeping: true)
        if case .failure(let error) = await self.promise.outcome() { return error.resumeData }
        return nil
    }

    deinit { self.promise.fulfil(.failure(.cancelled)) }

    // MARK: The end

    override func succeed(_ completion: TransferEvent.Completion) {
        let response = self.finalResponse()
        let isNew = !completion.skipped
        if isNew { self.tellWhole(completion.bytes) }
        let file = DownloadedFile(
            path: completion.notModified && self.place.isTemporary ? "" : completion.path,
            isTemporary: self.place.isTemporary,
            response: response,
            size: completion.bytes,
            isNotModified: completion.notModified,
            alreadyExisted: completion.skipped && !completion.notModified,
            hold: self.place.isTemporary ? self.facts.withLock { $0.takeHold() } : nil
        )
        self.end(.success(file))
    }

    override func failed(_ failure: TransferFailure, _ target: FileTarget?) {
        self.endKeeping(TransferError(failure), target)
    }

    override func wasCancelled(_ target: FileTarget?) {
        self.endKeeping(.cancelled, target)
    }

    /// Ends with an error that tells what can be gone on from; looking for it may block, so not on a lane.
    private func endKeeping(_ error: TransferError, _ target: FileTarget?) {
        guard let target else { return self.fail(error) }
        self.session.onPool {
            self.fail(TransferError(error, resumeData: ResumeData.survey(target, of: self)))
        }
    }

    override func fail(_ error: TransferError) { self.end(.failure(error)) }

    private func end(_ outcome: Result<DownloadedFile, TransferError>) {
        var error: TransferError?
        if case .failure(let failure) = outcome { error = failure }
        guard let sequences = self.markEnded(error) else { return }
        let event: TaskEvent =
            switch outcome {
            case .success(let file): .finished(.file(file))
            case .failure(let failure): .failed(failure)
            }
        for sequence in sequences {
            sequence.put(event)
            sequence.close()
        }
        let members = self.hearers
        let isTold = !sequences.isEmpty || !members.isEmpty || !self.promise.isUnawaited
        if case .success(let file) = outcome, file.isTemporary, isTold {
            // Who is told now has the file; the task must not keep it alive behind their backs.
            let handedOut = HandedOut(file: file)
            self.promise.fulfil(outcome) { handedOut.file }
        } else {
            self.promise.fulfil(outcome)
        }
        for member in members { member.tell { $0.task(self, didEndWith: outcome) } }
        self.session.forget(self)
    }

    private struct HandedOut: Sendable { weak let file: DownloadedFile? }

    override func tellEnd(to mailbox: Mailbox) {
        self.promise.whenFulfilled { outcome in
            switch outcome {
            case .success(let file): mailbox.put(.finished(.file(file)))
            case .failure(let error): mailbox.put(.failed(error))
            }
        }
    }
}

/// The directory and the name that the engine is given for a download.
struct DownloadPlace: Sendable {
    var directory: String
    var name: String?
    var rule: ExistingFileRule
    var isTemporary: Bool

    var diversion: Diversion {
        Diversion(directory: self.directory, name: self.name, ifExists: self.rule.engineRule)
    }
}
