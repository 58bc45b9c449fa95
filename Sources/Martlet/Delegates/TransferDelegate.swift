/// Hears of a session's tasks, and decides about them.
///
/// Every method is optional. For one task the order is: the response, then data or progress any number of times, then
/// exactly one end. A task that fails before any response has no response to tell; redirects and challenges come before
/// the response. A session may have several delegates, and holds them weakly: one that goes away hears nothing more, and
/// what was asked of it is decided as if it had not been there. Of several the first that decides otherwise than by the
/// default decides.
///
/// A method with a `decide` may call it at any time, from any thread, once; until then the task waits. Where it is dropped
/// without being called, the default applies.
///
/// A class that lives on the main actor conforms by `@preconcurrency TransferDelegate` and is added on
/// ``CallbackContext/main``.
public protocol TransferDelegate: AnyObject, Sendable {
    /// The response came whose body will be taken; redirects and challenges are over.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - response: The response's head.
    ///   - decide: Takes the decision; the default is to take the body.
    func task(
        _ task: TransferTask,
        didReceive response: HTTPResponse,
        decide: @escaping @Sendable (ResponseDecision) -> Void
    )

    /// Bytes of a data task's body came, in order.
    ///
    /// The transfer waits while more than about 1 MiB was told and not yet taken.
    func task(_ task: DataTask, didReceive bytes: [UInt8])

    /// Bytes came; sampled, at most about five times a second, and once more before a download's end.
    func task(_ task: TransferTask, didMake progress: TransferProgress)

    /// Bytes of an upload were sent; sampled, at most about five times a second, and once more before its end.
    func task(_ task: UploadTask, didSend progress: UploadProgress)

    /// The server redirects.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - redirect: From where to where.
    ///   - decide: Takes the decision; the default is to follow.
    func task(
        _ task: TransferTask,
        willFollow redirect: Redirect,
        decide: @escaping @Sendable (RedirectDecision) -> Void
    )

    /// The server wants credentials, and the session has none that it has not refused.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - challenge: What the server asks for.
    ///   - decide: Takes the decision; the default is to fail with the response's status.
    func task(
        _ task: TransferTask,
        didReceive challenge: Challenge,
        decide: @escaping @Sendable (ChallengeDecision) -> Void
    )

    /// A data task goes on as a download task, as a delegate decided: this is the data task's end.
    func task(_ task: DataTask, didBecome download: DownloadTask)

    /// A data task's end.
    func task(_ task: DataTask, didEndWith result: Result<DataResponse, TransferError>)

    /// A download task's end.
    ///
    /// A file in a temporary place is deleted when this returns, unless it was moved or kept; see ``DownloadedFile``.
    func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>)

    /// An upload task's end, with the server's answer.
    func task(_ task: UploadTask, didEndWith result: Result<DataResponse, TransferError>)

    /// The session was invalidated and its last task has ended: nothing more will be told.
    func sessionDidBecomeInvalid(_ session: TransferSession)

    /// All that happened to a background session before it was opened has been told; exactly once for each opening.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - completion: To be called once the program has stored what it makes of these events; where it is not called the
    ///     log has a warning.
    func sessionDidFinishEvents(_ session: TransferSession, completion: @escaping @Sendable () -> Void)

    /// A background session cannot go on: another program has it open, or the daemon refuses it.
    ///
    /// Nothing more will be told by this session object; what the daemon does goes on.
    func session(_ session: TransferSession, didFailWith error: TransferError)
}

extension TransferDelegate {
    /// Takes the body.
    public func task(
        _ task: TransferTask,
        didReceive response: HTTPResponse,
        decide: @escaping @Sendable (ResponseDecision) -> Void
    ) { decide(.allow) }

    /// Does nothing.
    public func task(_ task: DataTask, didReceive bytes: [UInt8]) {}

    /// Does nothing.
    public func task(_ task: TransferTask, didMake progress: TransferProgress) {}

    /// Follows.
    public func task(
        _ task: TransferTask,
        willFollow redirect: Redirect,
        decide: @escaping @Sendable (RedirectDecision) -> Void
    ) { decide(.follow) }

    /// Fails with the response's status.
    public func task(
        _ task: TransferTask,
        didReceive challenge: Challenge,
        decide: @escaping @Sendable (ChallengeDecision) -> Void
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

    /// Says that all is done.
    public func sessionDidFinishEvents(_ session: TransferSession, completion: @escaping @Sendable () -> Void) {
        completion()
    }

    /// Does nothing.
    public func session(_ session: TransferSession, didFailWith error: TransferError) {}
}
