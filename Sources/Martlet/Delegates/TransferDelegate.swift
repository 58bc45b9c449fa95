// SPDX-License-Identifier: Apache-2.0
/// Observes a session's tasks and decides about redirects, challenges and responses.
///
/// Every method is optional. For one task the order is: the response, then data or progress any number of times, then
/// exactly one end. A task that fails before any response reports no response. Redirects and challenges precede the
/// response. A session can have several delegates and references them weakly: a delegate that was released receives no
/// more calls, and its pending decisions are made as if it did not exist. Of several delegates, the first one that
/// makes a non-default decision decides.
///
/// A method with a `decide` parameter may call it once, at any time, from any thread; until then the task waits. If
/// `decide` is released without a call, the default applies.
///
/// Declare the conformance in an extension that contains the methods: there the compiler warns about a method that
/// nearly matches one of these and would never be called.
///
/// A class isolated to the main actor conforms with `@preconcurrency TransferDelegate` and is added with
/// ``CallbackContext/main``.
public protocol TransferDelegate: AnyObject, Sendable {
    /// The response whose body will be received has arrived; redirects and challenges precede it.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - response: The response's head.
    ///   - decide: Receives the decision; the default is to receive the body.
    func task(
        _ task: TransferTask,
        didReceive response: TransferResponse,
        decide: @escaping @Sendable (TransferResponse.Decision) -> Void
    )

    /// A download continues with bytes that are already present: from resume data, from an earlier run of the program,
    /// or after an interruption.
    ///
    /// Called after the response and before the first progress of each attempt that continues.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - offset: The number of bytes present, greater than 0; they are not received again.
    ///   - expected: The length of the whole file in bytes, or `nil` if it is unknown.
    func task(_ task: DownloadTask, didResumeAt offset: Int64, expected: Int64?)

    /// Bytes of a data task's body have arrived, in order.
    ///
    /// The transfer pauses while more than about 1 MiB was delivered and has not been processed.
    func task(_ task: DataTask, didReceive bytes: [UInt8])

    /// Progress of a transfer; sampled, at most about five times a second, and once more before a download's end.
    func task(_ task: TransferTask, didMake progress: TransferProgress)

    /// Progress of an upload; sampled, at most about five times a second, and once more before its end.
    func task(_ task: UploadTask, didSend progress: UploadProgress)

    /// An attempt failed, and the task waits for the next one; see also ``TransferTask/waitReason``.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - reason: The reason, with the failure and the time of the next attempt.
    func task(_ task: TransferTask, waits reason: WaitReason)

    /// The server redirects.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - redirect: The redirect response and the next request.
    ///   - decide: Receives the decision; the default is to follow.
    func task(
        _ task: TransferTask,
        willFollow redirect: Redirect,
        decide: @escaping @Sendable (Redirect.Decision) -> Void
    )

    /// The server requires credentials, and the session has none that the server has not refused.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - challenge: The server's challenge.
    ///   - decide: Receives the decision; the default is to fail with the response's status.
    func task(
        _ task: TransferTask,
        didReceive challenge: Challenge,
        decide: @escaping @Sendable (Challenge.Decision) -> Void
    )

    /// A data task continues as a download task by a delegate's decision; this is the data task's end.
    func task(_ task: DataTask, didBecome download: DownloadTask)

    func task(_ task: DataTask, didEndWith result: Result<DataResponse, TransferError>)

    /// A download task has ended.
    ///
    /// A temporary file is deleted when this method returns, unless it was moved or kept; see ``DownloadedFile``.
    func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>)

    /// An upload task has ended; on success the result has the server's response.
    func task(_ task: UploadTask, didEndWith result: Result<DataResponse, TransferError>)

    /// The session was invalidated and its last task has ended; this is the last call.
    func sessionDidBecomeInvalid(_ session: TransferSession)

    /// All events of a background session from before it was opened were delivered; called once for each opening.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - completion: To be called once the program has stored its results from these events; if it is never called,
    ///   the log has a warning.
    func sessionDidFinishEvents(_ session: TransferSession, completion: @escaping @Sendable () -> Void)

    /// A background session cannot continue: another program has it open, or the daemon refuses it.
    ///
    /// This session object makes no further calls; the daemon continues the transfers.
    func sessionDidFail(_ session: TransferSession, with error: TransferError)
}

extension TransferDelegate {
    /// Receives the body.
    public func task(
        _ task: TransferTask,
        didReceive response: TransferResponse,
        decide: @escaping @Sendable (TransferResponse.Decision) -> Void
    ) { decide(.allow) }

    /// Does nothing.
    public func task(_ task: DownloadTask, didResumeAt offset: Int64, expected: Int64?) {}

    /// Does nothing.
    public func task(_ task: DataTask, didReceive bytes: [UInt8]) {}

    /// Does nothing.
    public func task(_ task: TransferTask, didMake progress: TransferProgress) {}

    /// Does nothing.
    public func task(_ task: TransferTask, waits reason: WaitReason) {}

    /// Follows the redirect.
    public func task(
        _ task: TransferTask,
        willFollow redirect: Redirect,
        decide: @escaping @Sendable (Redirect.Decision) -> Void
    ) { decide(.follow) }

    /// Fails with the response's status.
    public func task(
        _ task: TransferTask,
        didReceive challenge: Challenge,
        decide: @escaping @Sendable (Challenge.Decision) -> Void
    ) { decide(.useDefault) }

    /// Does nothing.
    public func task(_ task: DataTask, didBecome download: DownloadTask) {}

    /// Does nothing.
    public func task(_ task: DataTask, didEndWith result: Result<DataResponse, TransferError>) {}

    /// Does nothing.
    public func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {}

    /// Does nothing.
    public func task(_ task: UploadTask, didSend progress: UploadProgress) {}

    /// Does nothing.
    public func task(_ task: UploadTask, didEndWith result: Result<DataResponse, TransferError>) {}

    /// Does nothing.
    public func sessionDidBecomeInvalid(_ session: TransferSession) {}

    /// Calls `completion`; events without an acknowledgement are still not handled.
    public func sessionDidFinishEvents(_ session: TransferSession, completion: @escaping @Sendable () -> Void) {
        EventsCompletion.$isImplicit.withValue(true) { completion() }
    }

    /// Does nothing.
    public func sessionDidFail(_ session: TransferSession, with error: TransferError) {}
}
