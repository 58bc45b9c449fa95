// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import Martlet

extension TransferTask {
    /// The date before which the task does not begin; see ``TransferTask/earliestBeginTime``.
    public var earliestBeginDate: Date? {
        get { self.earliestBeginTime.map { Date(timeIntervalSince1970: $0) } }
        set { self.earliestBeginTime = newValue?.timeIntervalSince1970 }
    }

    /// Creates a Foundation `Progress` of the task, to be displayed or added to another progress.
    ///
    /// Its unit is the byte; it is indeterminate until the length is known. Cancelling it cancels the task, pausing it
    /// suspends the task, resuming it resumes the task. It is updated as long as it is referenced; each call makes a
    /// new one.
    public func makeProgress() -> Progress {
        let progress = Progress.discreteProgress(totalUnitCount: self.bytesExpected ?? -1)
        progress.kind = .file
        progress.completedUnitCount = self.bytesReceived
        progress.isCancellable = true
        progress.isPausable = true
        let watcher = ProgressWatcher(progress)
        // The progress keeps its watcher alive; the task keeps neither.
        progress.cancellationHandler = { [weak self] in
            withExtendedLifetime(watcher) { self?.cancel() }
        }
        progress.pausingHandler = { [weak self] in self?.suspend() }
        progress.resumingHandler = { [weak self] in self?.resume() }
        self.addDelegate(watcher)
        if self.state == .ended { watcher.ended(self.error == nil) }
        return progress
    }
}

/// Passes a task's progress on; `Progress` may be changed on any thread.
private final class ProgressWatcher: TransferDelegate {
    private weak let progress: Progress?

    init(_ progress: Progress) { self.progress = progress }

    func task(_ task: TransferTask, didMake made: TransferProgress) {
        guard let progress = self.progress else { return }
        if let expected = made.bytesExpected { progress.totalUnitCount = expected }
        progress.completedUnitCount = made.bytesReceived
    }

    func task(_ task: DataTask, didEndWith result: Result<DataResponse, TransferError>) {
        if case .success(let response) = result { self.progress?.completedUnitCount = Int64(response.body.count) }
        self.ended(task.error == nil)
    }

    func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
        if case .success(let file) = result { self.progress?.completedUnitCount = file.size }
        self.ended(task.error == nil)
    }

    /// Completes the progress: it is finished when its completed count equals a known total.
    func ended(_ isWhole: Bool) {
        guard let progress = self.progress, isWhole else { return }
        if progress.completedUnitCount == 0 { progress.completedUnitCount = 1 }
        progress.totalUnitCount = progress.completedUnitCount
    }
}
