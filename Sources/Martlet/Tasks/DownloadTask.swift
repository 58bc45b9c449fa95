// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Synchronization
internal import TransferEngine

// `@unchecked Sendable`: inherited; every stored property is a constant of a sendable type.
/// A task that receives a body into a file.
public final class DownloadTask: TransferTask, @unchecked Sendable {
    /// The destination of the file.
    public let destination: Destination

    /// The location that the engine writes to; a temporary one belongs to the task alone.
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

    /// Waits for the complete file; the task must have been resumed.
    ///
    /// A temporary file belongs to this caller and is deleted when the caller releases it. If the task had delegates or
    /// handlers and has already ended, they received the temporary file, and this throws `fileWasHandedOut`. Cancelling
    /// the surrounding Swift task cancels this task.
    ///
    /// - Throws: ``TransferError``, or `CancellationError` if the Swift task was cancelled.
    public var value: DownloadedFile {
        get async throws {
            self.session.beginDelivery()
            return try await self.promise.value(of: self)
        }
    }

    /// Adds a handler for the task's end, called in the configuration's callback context; there may be several.
    ///
    /// The handlers of one session are called one after another.
    ///
    /// A temporary file is deleted when the handler returns, unless it was moved or kept.
    public func onCompletion(_ handler: @escaping @Sendable (Result<DownloadedFile, TransferError>) -> Void) {
        // Does not capture the task: a task that is never resumed is released together with its handlers.
        self.promise.whenFulfilled { [handlers = self.session.handlers] outcome in handlers.put { handler(outcome) } }
    }

    func whenEnded(_ handler: @escaping @Sendable (Result<DownloadedFile, TransferError>) -> Void) {
        self.promise.whenFulfilled(handler)
    }

    /// Cancels the task, keeps its partial file, and returns data for ``TransferSession/download(resuming:)``.
    ///
    /// - Returns: `nil` if nothing can be resumed: nothing was received, the file is small, or the task had ended.
    public override func cancelProducingResumeData() async -> ResumeData? {
        if self.state == .ended { return nil }
        self.cancel(keeping: true)
        if case .failure(let error) = await self.promise.outcome() { return error.resumeData }
        return nil
    }

    deinit { self.promise.fulfil(.failure(.cancelled)) }

    // MARK: End

    override func succeed(_ completion: TransferEvent.Completion) {
        let response = self.finalResponse()
        let isNew = !completion.skipped
        if isNew { self.tellWhole(completion) }
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

    /// Ends with an error that has resume data.
    ///
    /// The search for the partial file may block, so it does not run on an event loop.
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
            // The recipients own the file now; the task must not keep it alive.
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

/// The directory and the name that the engine uses for a download.
struct DownloadPlace: Sendable {
    var directory: String
    var name: String?
    var rule: Destination.ExistingFileRule
    var isTemporary: Bool

    var diversion: Diversion {
        Diversion(directory: self.directory, name: self.name, ifExists: self.rule.engineRule)
    }
}
