// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import TransferCore

/// Appends contents to shards on a thread of its own.
final class ShardStore: Sendable {
    private struct State {
        weak var run: DatasetRun?
        /// The rows of a complete shard of which the last one is not recorded yet, and who waits for it.
        var waiting: DispatchSemaphore?
    }

    private let queue = DispatchQueue(label: "martlet.shards")
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
    ///   - reported: The shards that the report names.
    /// - Throws: `StorageError` as `ShardWriter`.
    init(_ shards: DatasetOrder.Shards, reported: Set<String>) throws(StorageError) {
        let link = Link()
        self.link = link
        self.writer = try ShardWriter(directory: shards.directory, limits: shards.limits, reported: reported) {
            (shard) throws(StorageError) in
            try link.store?.report(shard)
        }
        link.store = self
    }

    /// The run whose rows are stored.
    var run: DatasetRun? {
        get { self.state.withLock { $0.run } }
        set { self.state.withLock { $0.run = newValue } }
    }

    /// Appends a content soon.
    func append(_ fetch: DatasetFetch, _ content: SampleContent, _ result: DatasetResult) {
        self.queue.async {
            guard let run = self.run else { return }
            run.store(fetch, content, result, in: self.writer)
            self.state.withLock { state in
                defer { state.waiting = nil }
                return state.waiting
            }?
            .signal()
        }
    }

    /// Completes the last shard.
    ///
    /// Blocks.
    func finish() throws(StorageError) {
        let result = self.queue.sync {
            Result { () throws(StorageError) in try self.writer.finish() }
        }
        try result.get()
    }

    private func report(_ shard: ClosedShard) throws(StorageError) {
        guard let run = self.run else { return }
        // The shard may be complete before the thread that appended its last row has recorded it. That thread waits for
        // nothing in between.
        while true {
            let semaphore = DispatchSemaphore(value: 0)
            self.state.withLock { $0.waiting = semaphore }
            if run.machine.withLock({ $0.areStored(shard.rows) }) {
                self.state.withLock { $0.waiting = nil }
                break
            }
            semaphore.wait()
        }
        try run.shardClosed(shard)
    }
}
