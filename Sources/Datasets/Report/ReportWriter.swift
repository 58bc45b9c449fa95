// SPDX-License-Identifier: Apache-2.0
package import Concurrency
internal import Platform
internal import Synchronization
package import TransferCore

/// Appends lines to a report in batches, and syncs them at intervals.
///
/// Lines may be added on threads that must not block.
package final class ReportWriter: Sendable {
    private struct Pending {
        var bytes: [UInt8] = []
        var isScheduled = false
        var failure: StorageError?
    }

    private struct Output: ~Copyable {
        var file: ReportFile
        /// The time of the last sync, in nanoseconds.
        var synced: Int64
    }

    /// The time after which lines are written.
    private static let delay = Duration.milliseconds(100)
    /// The time after which written lines are synced if more follow, in nanoseconds.
    private static let interval: Int64 = 2_000_000_000
    /// The number of bytes that are written without delay.
    private static let batch = 256 << 10
    /// The number of bytes above which no more rows should be fetched.
    private static let most = 8 << 20

    private let worker: any SerialWorker
    private let pending = Mutex(Pending())
    private let output: Mutex<Output>
    private let onFailure: @Sendable (StorageError) -> Void

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - file: The report.
    ///   - worker: The thread that writes.
    ///   - onFailure: Called once, on any thread, when the report cannot be written. Lines that were not written are
    ///     lost: their rows are fetched again by the next run.
    package init(
        _ file: consuming ReportFile,
        worker: any SerialWorker,
        onFailure: @escaping @Sendable (StorageError) -> Void
    ) {
        self.worker = worker
        self.output = Mutex(Output(file: file, synced: FileCalls.nanoseconds(of: CLOCK_MONOTONIC)))
        self.onFailure = onFailure
    }

    /// Whether many lines wait to be written, so that fewer should be added.
    package var isBehind: Bool { self.pending.withLock { $0.bytes.count > Self.most } }

    /// Adds complete lines; they are written soon.
    package func append(_ lines: [UInt8]) {
        let (isFirst, isFull) = self.pending.withLock { pending in
            let before = pending.bytes.count
            pending.bytes += lines
            defer { pending.isScheduled = true }
            return (!pending.isScheduled, before <= Self.batch && pending.bytes.count > Self.batch)
        }
        if isFull {
            self.worker.perform { self.flushQuietly() }
        } else if isFirst {
            self.worker.perform(after: Self.delay) { self.flushQuietly() }
        }
    }

    /// Adds complete lines, and returns when they and all earlier ones are durable.
    ///
    /// Blocks.
    ///
    /// - Throws: `StorageError`, also that of an earlier write.
    package func appendDurably(_ lines: [UInt8]) throws(StorageError) {
        self.pending.withLock { $0.bytes += lines }
        try self.flush(syncing: true)
    }

    private func flushQuietly() {
        do throws(StorageError) {
            try self.flush(syncing: false)
        } catch {
            self.onFailure(error)
        }
    }

    private func flush(syncing: Bool) throws(StorageError) {
        try self.output.withLock { (output) throws(StorageError) in
            let (bytes, failure) = self.pending.withLock { pending in
                defer {
                    pending.bytes = []
                    pending.isScheduled = false
                }
                return (pending.bytes, pending.failure)
            }
            // After a failure the end of the file is uncertain: nothing more is written.
            if let failure { throw failure }
            do throws(StorageError) {
                if !bytes.isEmpty { try output.file.append(bytes) }
                let now = FileCalls.nanoseconds(of: CLOCK_MONOTONIC)
                if syncing || now - output.synced > Self.interval {
                    try output.file.sync()
                    output.synced = now
                }
            } catch {
                self.pending.withLock { $0.failure = error }
                throw error
            }
        }
    }
}
