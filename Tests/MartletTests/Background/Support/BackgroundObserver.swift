// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization

/// A delegate of a background session that records its events.
final class BackgroundObserver: TransferDelegate {
    /// The events, as `response 200 NAME`, `end NAME` and such, by the tasks' descriptions.
    let log = Log<String>()
    let errors = Log<TransferError>()
    let files = Log<DownloadedFile>()
    private let ended: @Sendable (DownloadTask, Result<DownloadedFile, TransferError>) -> Void
    private let finished: @Sendable (@escaping @Sendable () -> Void) -> Void

    init(
        ended: @escaping @Sendable (DownloadTask, Result<DownloadedFile, TransferError>) -> Void = { _, _ in },
        finished: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { $0() }
    ) {
        self.ended = ended
        self.finished = finished
    }

    func task(
        _ task: TransferTask,
        didReceive response: TransferResponse,
        decide: @escaping @Sendable (TransferResponse.Decision) -> Void
    ) {
        decide(.cancel)
        self.log.add("response \(response.status) \(task.description)")
    }

    func task(_ task: DownloadTask, didResumeAt offset: Int64, expected: Int64?) {
        self.log.add("resumed \(offset) of \(expected ?? -1) \(task.description)")
    }

    func task(_ task: TransferTask, didMake progress: TransferProgress) {
        self.log.add("progress \(progress.bytesReceived) \(task.description)")
    }

    func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
        self.ended(task, result)
        switch result {
        case .success: self.log.add("end \(task.description)")
        case .failure(let error):
            self.errors.add(error)
            self.log.add("failed \(error.code) \(task.description)")
        }
    }

    func task(_ task: UploadTask, didSend progress: UploadProgress) {
        self.log.add("sent \(progress.bytesSent) \(task.description)")
    }

    func task(_ task: UploadTask, didEndWith result: Result<DataResponse, TransferError>) {
        switch result {
        case .success: self.log.add("end \(task.description)")
        case .failure(let error):
            self.errors.add(error)
            self.log.add("failed \(error.code) \(task.description)")
        }
    }

    func sessionDidFinishEvents(_ session: TransferSession, completion: @escaping @Sendable () -> Void) {
        self.log.add("all events")
        self.finished(completion)
    }

    func sessionDidFail(_ session: TransferSession, with error: TransferError) {
        self.errors.add(error)
        self.log.add("session failed \(error.code)")
    }

    func sessionDidBecomeInvalid(_ session: TransferSession) { self.log.add("invalid") }
}
