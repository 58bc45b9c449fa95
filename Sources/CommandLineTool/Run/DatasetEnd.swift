// SPDX-License-Identifier: Apache-2.0
import Datasets
import Synchronization
import TransferCore

/// The first failure to write a report or a shard, which stops the run.
final class DatasetFailure: Sendable {
    private struct State {
        var error: StorageError?
        var stop: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// The failure, or `nil`.
    var error: StorageError? { self.state.withLock { $0.error } }

    /// Records a failure and stops the run.
    func report(_ error: StorageError) {
        let stop = self.state.withLock { state in
            state.error = state.error ?? error
            return state.stop
        }
        stop?()
    }

    /// Sets what stops the run; it is called at once if there was a failure.
    func onFailure(_ stop: @escaping @Sendable () -> Void) {
        let hasFailed = self.state.withLock { state in
            state.stop = stop
            return state.error != nil
        }
        if hasFailed { stop() }
    }
}

/// The end of a run over a table: completes the shards and the report.
struct DatasetEnd {
    private let summary: DatasetSummary
    /// The failure that stopped the run, or `nil`.
    let error: StorageError?

    /// Completes the last shard and the report.
    ///
    /// Blocks.
    init(_ run: DatasetRun, _ failure: DatasetFailure) {
        if failure.error == nil {
            do throws(StorageError) { try run.finish() } catch { failure.report(error) }
        }
        self.summary = run.summary
        self.error = failure.error
    }

    /// The counts as lines of text.
    var lines: [String] {
        var counts = ["\(self.summary.rows) rows: \(self.summary.done) done", "\(self.summary.failures) failed"]
        if self.summary.reportedBefore > 0 {
            var before = "\(self.summary.reportedBefore) reported before"
            if self.summary.failedBefore > 0 { before += " (\(self.summary.failedBefore) failed)" }
            counts.append(before)
        }
        if self.summary.unfinished > 0 { counts.append("\(self.summary.unfinished) not finished") }
        var lines = [counts.joined(separator: ", ")]
        for reason in self.summary.reasons { lines.append("  \(reason.code): \(reason.count)") }
        if self.summary.isTableIncomplete { lines.append("  the table could not be read to its end") }
        if let error { lines.append("  " + DisplayText.clean(error.message)) }
        return lines
    }

    /// Returns the exit status, which is 0 only if all rows are done.
    ///
    /// Failures of rows have one status, because the report has the reason of each.
    ///
    /// - Parameter interrupted: Whether a signal ended the run.
    /// - Returns: The status by ``ExitOrder``.
    func status(interrupted: Bool) -> Int32 {
        var order = ExitOrder()
        if interrupted { order.add(ExitStatus.interrupted) }
        if let error { order.add(error.code == .noSpace ? ExitStatus.noSpace : ExitStatus.fileIO) }
        if self.summary.isTableIncomplete { order.add(ExitStatus.usage) }
        if self.summary.unfinished > 0 { order.add(ExitStatus.unfinished) }
        if self.summary.failures + self.summary.failedBefore > 0 { order.add(ExitStatus.rowsFailed) }
        return order.status
    }
}
