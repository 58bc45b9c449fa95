// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import Synchronization
internal import TransferCore

/// Appends contents to shards on a separate thread.
final class ShardStore: Sendable {
    private struct State { weak var run: DatasetRun? }

    private let worker: any SerialWorker
    private let state = Mutex(State())
    private let link: Link
    private let writer: ShardWriter

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
    ///   - workers: Creates the threads.
    /// - Throws: `StorageError` as `ShardWriter`.
    init(
        _ shards: DatasetOrder.Shards,
        owner: ShardReport,
        workers: SerialWorkerFactory
    ) throws(StorageError) {
        self.worker = workers("martlet.shards")
        let link = Link()
        self.link = link
        self.writer = try ShardWriter(
            directory: shards.directory,
            limits: shards.limits,
            owner: owner,
            closer: workers("martlet.shards.closing")
        ) { (shard) throws(StorageError) in
            try link.store?.report(shard)
        }
        link.store = self
    }

    /// What a killed run has left.
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
