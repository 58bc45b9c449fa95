// SPDX-License-Identifier: Apache-2.0
internal import Foundation
internal import Martlet
internal import Synchronization

/// Passes the events of Martlet's session on to the tasks of a `URLSession`; called on the delegate's queue, in order.
final class SessionBridge: TransferDelegate {
    private struct State: Sendable {
        weak var session: URLSession?
        /// The session between its invalidation and the report of it, when the program may have released it.
        var closing: URLSession?
        var isServing = false
        /// The work of events that arrived before the session's initializer returned.
        var early: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    private var session: URLSession? { self.state.withLock { $0.session } }

    /// Begins to pass events on.
    func serve(_ session: URLSession) {
        self.state.withLock { state in
            state.session = session
            state.isServing = true
            // Under the lock, so that later work follows it.
            for work in state.early { session.delegateQueue.addOperation(work) }
            state.early = []
        }
    }

    /// Keeps the session until it is reported as invalid.
    func close(_ session: URLSession) { self.state.withLock { $0.closing = session } }

    /// Runs work on the delegate's queue.
    func run(_ work: @escaping @Sendable () -> Void, on queue: OperationQueue) {
        self.state.withLock { state in
            if state.isServing { queue.addOperation(work) } else { state.early.append(work) }
        }
    }

    private func task(of transfer: TransferTask) -> URLSessionTask? { self.session?.task(of: transfer) }

    // MARK: Events of tasks

    func task(
        _ task: TransferTask,
        didReceive response: TransferResponse,
        decide: @escaping @Sendable (TransferResponse.Decision) -> Void
    ) {
        guard let known = self.task(of: task) else { return decide(.allow) }
        known.received(response, of: task, decide)
    }

    func task(_ task: DownloadTask, didResumeAt offset: Int64, expected: Int64?) {
        self.task(of: task)?.resumed(at: offset, expected: expected)
    }

    func task(_ task: DataTask, didReceive bytes: [UInt8]) {
        self.task(of: task)?.received(Data(bytes), of: task)
    }

    func task(_ task: TransferTask, didMake progress: TransferProgress) {
        guard task is DownloadTask else { return }
        self.task(of: task)?.wrote(progress)
    }

    func task(_ task: UploadTask, didSend progress: UploadProgress) {
        self.task(of: task)?
            .sent(
                progress.bytesSent,
                since: progress.bytesSinceLast,
                of: progress.bytesExpected ?? NSURLSessionTransferSizeUnknown
            )
    }

    func task(_ task: TransferTask, waits reason: WaitReason) { self.task(of: task)?.waits() }

    func task(
        _ task: TransferTask,
        willFollow redirect: Redirect,
        decide: @escaping @Sendable (Redirect.Decision) -> Void
    ) {
        guard let known = self.task(of: task) else { return decide(.follow) }
        known.redirected(redirect, decide)
    }

    func task(
        _ task: TransferTask,
        didReceive challenge: Challenge,
        decide: @escaping @Sendable (Challenge.Decision) -> Void
    ) {
        guard let known = self.task(of: task) else { return decide(.useDefault) }
        known.challenged(challenge, decide)
    }

    func task(_ task: DataTask, didBecome download: DownloadTask) { self.task(of: task)?.became(download) }

    func task(_ task: DataTask, didEndWith result: Result<DataResponse, TransferError>) {
        self.task(of: task)?.ended(task, result.map { ($0.response, nil) })
    }

    func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
        guard let known = self.task(of: task) else { return }
        known.ended(task, downloaded: result)
    }

    func task(_ task: UploadTask, didEndWith result: Result<DataResponse, TransferError>) {
        self.task(of: task)?.ended(task, result.map { ($0.response, Data($0.body)) })
    }

    // MARK: Events of the session

    func sessionDidBecomeInvalid(_ session: TransferSession) {
        let closed = self.state.withLock { state in
            defer { state.closing = nil }
            return state.closing ?? state.session
        }
        closed?.becameInvalid()
    }

    func sessionDidFinishEvents(_ session: TransferSession, completion: @escaping @Sendable () -> Void) {
        guard let known = self.session, let delegate = known.delegate else { return completion() }
        delegate.urlSessionDidFinishEvents(forBackgroundURLSession: known)
        completion()
    }
}

/// The task of a transfer, in the transfer's `userInfo`.
final class TaskReference: Sendable {
    private struct Reference: Sendable { weak let task: URLSessionTask? }

    private let reference: Reference

    init(_ task: URLSessionTask) { self.reference = Reference(task: task) }

    var task: URLSessionTask? { self.reference.task }
}
