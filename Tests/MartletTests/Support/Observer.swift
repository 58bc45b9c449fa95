// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization

/// A delegate that records its calls, and decides as a test configures it.
final class Observer: TransferDelegate {
    /// How it decides, and what it does beside writing down.
    struct Script: Sendable {
        var response: @Sendable (TransferResponse, @escaping @Sendable (TransferResponse.Decision) -> Void) -> Void = {
            $1(.allow)
        }
        var redirect: @Sendable (Redirect, @escaping @Sendable (Redirect.Decision) -> Void) -> Void = { $1(.follow) }
        var challenge: @Sendable (Challenge, @escaping @Sendable (Challenge.Decision) -> Void) -> Void = {
            $1(.useDefault)
        }
        var data: @Sendable (DataTask, [UInt8]) -> Void = { _, _ in }
        var dataEnd: @Sendable (DataTask, Result<DataResponse, TransferError>) -> Void = { _, _ in }
        var downloadEnd: @Sendable (DownloadTask, Result<DownloadedFile, TransferError>) -> Void = { _, _ in }
        /// Called with every call's name.
        var every: @Sendable (String) -> Void = { _ in }
    }

    /// The calls' names in order; bytes and progress in a row count once.
    let log = Log<String>()
    let redirects = Log<Redirect>()
    let challenges = Log<Challenge>()
    let errors = Log<TransferError>()
    let progress = Log<TransferProgress>()
    let became = Log<DownloadTask>()
    private let body = Mutex<[UInt8]>([])
    private let script: Script

    init(_ change: (inout Script) -> Void = { _ in }) {
        var script = Script()
        change(&script)
        self.script = script
    }

    var story: [String] {
        self.log.entries.reduce(into: []) { story, name in
            if story.last != name || (name != "data" && name != "progress") { story.append(name) }
        }
    }

    var bytes: [UInt8] { self.body.withLock { $0 } }

    private func note(_ name: String) {
        self.script.every(name)
        self.log.add(name)
    }

    func task(
        _ task: TransferTask,
        didReceive response: TransferResponse,
        decide: @escaping @Sendable (TransferResponse.Decision) -> Void
    ) {
        self.note("response \(response.status)")
        self.script.response(response, decide)
    }

    func task(_ task: DownloadTask, didResumeAt offset: Int64, expected: Int64?) {
        self.note("resumed \(offset) \(expected ?? -1)")
    }

    func task(_ task: DataTask, didReceive bytes: [UInt8]) {
        self.body.withLock { $0 += bytes }
        self.script.data(task, bytes)
        self.note("data")
    }

    func task(_ task: TransferTask, didMake progress: TransferProgress) {
        self.progress.add(progress)
        self.note("progress")
    }

    func task(
        _ task: TransferTask,
        willFollow redirect: Redirect,
        decide: @escaping @Sendable (Redirect.Decision) -> Void
    ) {
        self.redirects.add(redirect)
        self.note("redirect")
        self.script.redirect(redirect, decide)
    }

    func task(
        _ task: TransferTask,
        didReceive challenge: Challenge,
        decide: @escaping @Sendable (Challenge.Decision) -> Void
    ) {
        self.challenges.add(challenge)
        self.note("challenge")
        self.script.challenge(challenge, decide)
    }

    func task(_ task: DataTask, didBecome download: DownloadTask) {
        self.became.add(download)
        self.note("became")
    }

    func task(_ task: DataTask, didEndWith result: Result<DataResponse, TransferError>) {
        self.script.dataEnd(task, result)
        self.end(result)
    }

    func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
        self.script.downloadEnd(task, result)
        self.end(result)
    }

    private func end(_ result: Result<some Any, TransferError>) {
        switch result {
        case .success: self.note("end")
        case .failure(let error):
            self.errors.add(error)
            self.note("failed \(error.code)")
        }
    }

    func sessionDidBecomeInvalid(_ session: TransferSession) { self.note("invalid") }

    /// Returns when a task has ended, well or not.
    func waitForEnds(_ count: Int = 1) async {
        await self.log.wait { $0.count { $0 == "end" || $0.hasPrefix("failed") } >= count }
    }
}
