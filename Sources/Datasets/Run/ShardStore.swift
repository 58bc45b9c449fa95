// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import Synchronization
internal import TransferCore

/// Appends contents to shards on the thread of the run.
final class ShardStore: Sendable {
    private struct State {
        weak var run: DatasetRun?
        /// Whether a look at the idle shard is scheduled.
        var isWatching = false
    }

    private let worker: any SerialWorker
    private let state = Mutex(State())
    private let link: Link
    private let writer: ShardWriter
    /// The time after which an idle shard is closed, or `nil`.
    private let idle: Int64?

    /// The writer is created before the store that it calls.
    private final class Link: Sendable {
        private let target = Mutex<Weak>(Weak())
        private struct Weak { weak var store: ShardStore? }
        var store: ShardStore? {
            get { self.target.withLock { $0.store } }
            set { self.target.withLock { $0.store = newValue } }
        }
    }

    /// Opens the directory of the shards.
    ///
    /// - Parameters:
    ///   - shards: The directory and the limits.
    ///   - owner: The report.
    ///   - worker: The thread that fills shards.
    ///   - closer: The thread that syncs and reports full shards, while the next one is filled.
    /// - Throws: `StorageError` as `ShardWriter`.
    init(
        _ shards: DatasetOrder.Shards,
        owner: ShardReport,
        worker: any SerialWorker,
        closer: any SerialWorker
    ) throws(StorageError) {
        self.worker = worker
        self.idle = shards.limits.idle
        let link = Link()
        self.link = link
        self.writer = try ShardWriter(
            directory: shards.directory,
            limits: shards.limits,
            owner: owner,
            closer: closer
        ) { (shard) throws(StorageError) in
            try link.store?.report(shard)
        }
        link.store = self
    }

    /// The remains of a killed run.
    var leftovers: ShardLeftovers { self.writer.leftovers }

    /// The run whose rows are stored.
    var run: DatasetRun? {
        get { self.state.withLock { $0.run } }
        set { self.state.withLock { $0.run = newValue } }
    }

    /// Appends a content soon.
    func append(_ fetch: DatasetFetch, _ content: SampleContent, _ result: DatasetResult) {
        self.worker.perform {
            guard let run = self.run else { return }
            run.store(fetch, content, result, in: self.writer)
            self.watch()
        }
    }

    /// Checks the open shard after the idle time of the limits.
    private func watch() {
        guard let idle = self.idle else { return }
        let isFirst = self.state.withLock { state in
            defer { state.isWatching = true }
            return !state.isWatching
        }
        if isFirst { self.look(after: idle) }
    }

    private func look(after delay: Int64) {
        self.worker.perform(after: .nanoseconds(delay)) { [weak self] in
            guard let self, let run = self.run else { return }
            do throws(StorageError) {
                if let next = try self.writer.closeIfIdle() { return self.look(after: next) }
                self.state.withLock { $0.isWatching = false }
            } catch {
                run.storageFailed(error)
            }
        }
    }

    /// Completes the last shard.
    ///
    /// Blocks.
    func finish() throws(StorageError) {
        self.worker.waitUntilIdle()
        try self.writer.finish()
    }

    private func report(_ shard: ClosedShard) throws(StorageError) {
        guard let run = self.run else { return }
        try run.shardClosed(shard)
    }
}
