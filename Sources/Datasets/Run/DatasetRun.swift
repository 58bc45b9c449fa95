// SPDX-License-Identifier: Apache-2.0
package import Concurrency
internal import FileStorage
internal import Files
internal import Platform
internal import Synchronization
package import TransferCore
package import TransferEngine

/// Drives a ``DatasetMachine``: rows become downloads, their events become lines of the report and samples of shards.
///
/// The owner adds the downloads to an engine and passes its events.
package final class DatasetRun: Sendable {
    typealias Machine = DatasetMachine<[UInt8]>

    let order: DatasetOrder
    private let formatter: ReportLine
    /// The table, which is opened before anything is written.
    private let table: FileDescriptor
    private let id: String
    private let writer: ReportWriter?
    let machine: Mutex<Machine>
    private let storage: ContentStorage?
    private let shards: ShardStore?
    /// The thread that writes the report and the shards, and reads files for their digests.
    private let worker: any SerialWorker
    private let onFailure: @Sendable (StorageError) -> Void

    /// Opens the table, the report and the shards.
    ///
    /// - Parameters:
    ///   - order: What to do.
    ///   - workers: Creates the threads: one that writes the report and the shards, and one that syncs full shards.
    ///   - onFailure: Called on any thread when the report or a shard cannot be written: the run must be stopped then. No
    ///     row fails because of it.
    /// - Throws: ``DatasetError``.
    package init(
        _ order: DatasetOrder,
        workers: SerialWorkerFactory = DispatchWorker.factory,
        onFailure: @escaping @Sendable (StorageError) -> Void
    ) throws(DatasetError) {
        self.order = order
        self.worker = workers("martlet.dataset")
        self.onFailure = onFailure
        self.formatter = ReportLine(order.algorithm)
        do throws(SyntaxError) { self.table = try TableReader.open(order.table) } catch { throw .table(error) }
        var earlier = ReportFile.Contents()
        if let path = order.report {
            let known: [JSON.Member]
            do throws(StorageError) {
                known = try ReportOrigin.terms(ofTable: self.table, named: order.table)
            } catch {
                throw .storage(error)
            }
            let report = try ReportOpening(path, terms: order.terms + known)
            self.id = report.id
            earlier = report.contents
            self.writer = ReportWriter(report.takeFile(), worker: self.worker, onFailure: onFailure)
        } else {
            self.id = ""
            self.writer = nil
        }
        self.machine = Mutex(Machine(earlier))
        if let shards = order.shards {
            let store: ShardStore
            do throws(StorageError) {
                store = try ShardStore(
                    shards,
                    owner: ShardReport(
                        path: order.report ?? "",
                        id: self.id,
                        shards: earlier.shards,
                        lastSample: earlier.lastSample,
                        retried: order.isRetry ? order.table : nil
                    ),
                    worker: self.worker,
                    closer: workers("martlet.shards.closing")
                )
            } catch {
                throw .storage(error)
            }
            self.storage = ContentStorage(directory: shards.directory, fetches: order.fetches)
            self.shards = store
            store.run = self
        } else {
            self.storage = nil
            self.shards = nil
        }
    }

    package func reader() -> TableReader { TableReader(self.table, self.order.parser) }

    /// Whether no more rows should be fetched now, because earlier ones wait to be written.
    package var isBehind: Bool { (self.writer?.isBehind ?? false) || (self.storage?.isBehind ?? false) }

    /// Whether contents are written into shards.
    package var writesShards: Bool { self.shards != nil }

    /// A notice for the user about the start, or `nil`.
    package var warning: String? {
        let leftovers = self.shards?.leftovers
        if let path = leftovers?.aside {
            return
                "a shard that no report names, as a killed run leaves it, was renamed to '\(path)'; its rows are fetched "
                + "again, and it can be deleted"
        }
        return leftovers?.shortened
            .map {
                "samples at the end of '\($0)' that the report does not name, as a loss of power leaves them, were removed; "
                    + "their rows are fetched again"
            }
    }

    /// The path of the table, or `-`.
    package var tableName: String { self.order.table }

    /// The code of rows that cannot be fetched because of what the table has.
    package static let badRow = "bad-row"

    /// The counts so far.
    package var summary: DatasetSummary { self.machine.withLock { $0.summary } }

    // MARK: Rows

    /// Takes a row of the table.
    ///
    /// - Returns: The fetch to start, or `nil` if the row is done or is not to be fetched.
    package func take(_ row: DatasetRow) -> DatasetFetch? {
        switch self.machine.withLock({ $0.rowRead(row.number) }) {
        case .fetch: DatasetFetch(row, storage: self.storage, filter: self.order.filter)
        case .reported, .repeated: nil
        }
    }

    /// Completes the request of a fetch.
    package func prepare(_ request: inout DownloadRequest, for fetch: DatasetFetch) {
        request.userInfo = fetch
        request.policy = fetch
        request.options.reportDigest = self.order.algorithm
        if let checksum = fetch.row.checksum { request.expected = [checksum] }
        if let receiver = fetch.receiver {
            request.options.destination = .memory(receiver)
            request.options.connections = .fixed(1)
        } else if !self.id.isEmpty {
            request.mark = "\(self.id):\(fetch.row.number)"
        }
    }

    /// A row cannot be fetched, because of the row itself.
    package func refuse(_ fetch: DatasetFetch, code: String, _ message: String) {
        let failure = DatasetResult.Failure(code: code, message: message, isRetryable: false)
        self.end(fetch, fetch.failed(failure, at: Self.now))
    }

    /// A fetch was not started, because the run ends.
    package func interrupt(_ fetch: DatasetFetch) { self.machine.withLock { $0.interrupted(fetch.row.number) } }

    /// The rest of the table cannot be read.
    package func tableFailed() { self.machine.withLock { $0.tableFailed() } }

    // MARK: Events

    /// The events that a run needs.
    package static let interest: TransferEvent.Interest = .states

    /// Takes an event of the engine; does not block.
    package func take(_ event: TransferEvent) {
        guard let fetch = event.userInfo as? DatasetFetch else { return }
        switch event.kind {
        case .started: fetch.started(at: Self.now)
        case .finished(let completion): self.finished(fetch, completion, event.target)
        case .failed(let failure): self.failed(fetch, failure)
        case .cancelled:
            if let refusal = fetch.refusal {
                self.end(fetch, fetch.failed(refusal, at: Self.now))
            } else {
                self.machine.withLock { $0.interrupted(fetch.row.number) }
            }
        case .response, .progress, .retrying, .paused, .note, .warning, .held, .released, .drained, .missed: break
        }
    }

    private func failed(_ fetch: DatasetFetch, _ failure: TransferFailure) {
        // A full disk is not the fault of the row: the run stops, and the row is fetched by the next one.
        if failure.isFullDisk {
            self.machine.withLock { $0.interrupted(fetch.row.number) }
            return self.onFailure(StorageError(.noSpace, failure.description))
        }
        self.end(fetch, fetch.failed(fetch.refusal ?? DatasetResult.Failure(failure), at: Self.now))
    }

    private func finished(_ fetch: DatasetFetch, _ completion: TransferCompletion, _ target: FileTarget?) {
        var result = fetch.finished(completion, at: Self.now)
        guard let receiver = fetch.receiver else {
            result.name = self.relative(completion.path)
            // The digest of a file that existed is computed here, because the engine has not read it.
            if completion.skipped, result.digest == nil { return self.digest(fetch, result, completion.path) }
            return self.complete(fetch, result)
        }
        guard self.machine.withLock({ $0.contentReceived(fetch.row.number) }) else { return }
        let content = receiver.take()
        self.storage?.waits(content)
        self.shards?.append(fetch, content, result)
    }

    private func complete(_ fetch: DatasetFetch, _ result: DatasetResult) {
        let line = self.writer == nil ? [] : self.formatter.line(fetch.row, result)
        if let line = self.machine.withLock({ $0.fetched(fetch.row.number, line) }) { self.writer?.append(line) }
    }

    /// Reports a row that failed.
    func end(_ fetch: DatasetFetch, _ result: DatasetResult) {
        let line = self.writer == nil ? [] : self.formatter.line(fetch.row, result)
        let code = result.failure?.code ?? ""
        if let line = self.machine.withLock({ $0.failed(fetch.row.number, code: code, line) }) {
            self.writer?.append(line)
        }
    }

    private func digest(_ fetch: DatasetFetch, _ result: DatasetResult, _ path: String) {
        self.worker.perform {
            var result = result
            let (directory, name) = Self.split(path)
            do throws(StorageError) {
                result.digest = try DiskStore()
                    .digestExisting(FileTarget(directory: directory, name: name), self.order.algorithm)
            } catch {
                // A row is not reported as done without what its line promises.
                return self.failed(fetch, TransferFailure(error))
            }
            self.complete(fetch, result)
        }
    }

    private static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        let directory = String(path[..<slash])
        return (directory.isEmpty ? "/" : directory, String(path[path.index(after: slash)...]))
    }

    /// A path below the directory of the files, which begins with it.
    private func relative(_ path: String) -> String {
        guard let directory = self.order.directory, directory != "." else { return path }
        let prefix = directory.hasSuffix("/") ? directory : directory + "/"
        return path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : path
    }

    // MARK: Shards

    /// Stores a content; called on the thread of the shards.
    func store(_ fetch: DatasetFetch, _ content: SampleContent, _ result: DatasetResult, in shards: ShardWriter) {
        defer { self.storage?.released(content) }
        do throws(StorageError) {
            let refusal = self.order.filter.refusal(
                mediaType: result.mediaType,
                length: content.length,
                head: try content.head()
            )
            if let refusal {
                return self.end(fetch, fetch.failed(DatasetResult.Failure(refusal), at: result.ended))
            }
            let sample = DatasetSample(
                row: fetch.row,
                content: content,
                mediaType: result.mediaType,
                metadata: self.formatter.members(fetch.row, result)
            )
            // Recorded before the shard can be complete, and reported.
            try shards.append(sample) { place in
                let line = self.formatter.line(fetch.row, result, place: place)
                self.machine.withLock { $0.stored(fetch.row.number, line) }
            }
        } catch {
            self.onFailure(error)
        }
    }

    /// A shard could not be closed: the run must be stopped.
    func storageFailed(_ error: StorageError) { self.onFailure(error) }

    /// Reports the rows of a shard durably.
    func shardClosed(_ shard: ClosedShard) throws(StorageError) {
        let lines = self.machine.withLock { machine in
            var lines: [UInt8] = []
            for line in machine.shardClosed(shard.rows) { lines += line }
            return lines
        }
        try self.writer?.appendDurably(lines)
    }

    // MARK: The end

    /// Completes the last shard, and makes the report durable.
    ///
    /// Blocks.
    ///
    /// - Throws: `StorageError`.
    package func finish() throws(StorageError) {
        self.worker.waitUntilIdle()
        try self.shards?.finish()
        try self.writer?.appendDurably([])
    }

    /// Milliseconds since 1970.
    static var now: Int64 { FileCalls.nanoseconds(of: CLOCK_REALTIME) / 1_000_000 }
}

extension TransferFailure {
    fileprivate var isFullDisk: Bool { self.code == .noSpace }
}
