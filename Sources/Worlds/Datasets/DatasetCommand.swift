// SPDX-License-Identifier: Apache-2.0
import Datasets
import FileStorage
import TransferCore
import TransferEngine

/// A process that fetches a dataset: an engine, a dataset run, and what feeds the rows.
///
/// `@unchecked Sendable`: a world runs on one thread.
final class DatasetCommand: @unchecked Sendable {
    /// The end of the process.
    enum Ending {
        /// It could not start.
        case refused(DatasetError)
        /// A file could not be written.
        case failed(StorageError, DatasetSummary)
        /// Every row was fed, and has ended.
        case complete(DatasetSummary)
    }

    let process: SimulatedProcess
    private(set) var ending: Ending?
    /// Whether the user has stopped it.
    private(set) var wasStopped = false
    /// The number of bytes received in this process.
    var received: Int64 = 0

    private unowned let life: DatasetLife
    private let order: DatasetOrder
    /// Released at the end, with the directories that its store keeps open.
    private var engine: TransferEngine?
    private var run: DatasetRun?
    private var items: [TableItem] = []
    private var failure: StorageError?
    /// Whether all rows were fed.
    private var isFed = false

    init(_ life: DatasetLife, _ process: SimulatedProcess, _ order: DatasetOrder) {
        self.life = life
        self.order = order
        self.process = process
        let transport = SimulatedTransport(life.network, process, lanes: life.lanes)
        self.engine = life.scheduler.perform(as: process) {
            var configuration = TransferEngine.Configuration()
            configuration.concurrentTransfers = order.fetches
            configuration.releasesNames = true
            configuration.waitsForMachine = true
            return TransferEngine(
                configuration: configuration,
                transport: transport,
                store: DiskStore(),
                time: SimulatedTime(life.scheduler, process),
                pool: SimulatedPool(life.scheduler, process)
            )
        }
    }

    /// Opens the table, the report and the shards, and starts to feed.
    func start() {
        self.life.scheduler.perform(as: self.process) {
            do throws(DatasetError) {
                let workers = SimulatedWorker.factory(self.life.scheduler, self.process)
                self.run = try DatasetRun(self.order, workers: workers) { [weak self] in self?.failed($0) }
            } catch {
                self.life.trace.add("process \(self.process.number)", "is refused: \(error)")
                return self.exit(.refused(error))
            }
            self.engine?.observe { [weak self] in self?.take($0) }
            self.engine?.start()
            guard let run = self.run else { return }
            var reader = run.reader()
            do throws(SyntaxError) {
                while let items = try reader.next() { self.items += items }
            } catch {
                run.tableFailed()
                self.life.trace.add("process \(self.process.number)", "the table cannot be read: \(error.message)")
            }
            self.items.reverse()
            self.feed()
        }
    }

    private func take(_ event: TransferEvent) {
        guard self.process.isAlive else { return }
        let row = (event.userInfo as? DatasetFetch).map { "row \($0.row.number): " } ?? ""
        self.life.trace.add("process \(self.process.number)", row + Command.text(event.kind))
        self.run?.take(event)
        if case .drained = event.kind { self.finishIfDrained() }
    }

    /// Stops, because a file cannot be written.
    private func failed(_ error: StorageError) {
        guard self.process.isAlive, self.failure == nil else { return }
        self.life.trace.add("process \(self.process.number)", "stops: \(error.message)")
        self.failure = error
        self.later {
            self.engine?.beginStopping()
            self.awaitStop()
        }
    }

    /// Stops as by Ctrl-C: rows that are being fetched stay out of the report, and the last shard is completed.
    func stop() {
        guard self.isRunning, self.failure == nil, !self.wasStopped else { return }
        self.wasStopped = true
        self.life.scheduler.perform(as: self.process) { self.engine?.beginStopping() }
        self.awaitStop()
    }

    /// Finishes after the last row.
    private func finishIfDrained() {
        guard self.isFed, !self.wasStopped, let counts = self.engine?.counts,
            counts.waiting + counts.running + counts.retrying + counts.paused == 0
        else { return }
        self.later { self.finish() }
    }

    private func awaitStop() {
        guard let engine, engine.counts.running > 0 else { return self.finish() }
        self.later(after: 5_000_000) { self.awaitStop() }
    }

    private func later(after delay: Int64 = 0, _ work: @escaping () -> Void) {
        self.life.scheduler.schedule(after: delay, in: self.process, work)
    }

    // MARK: Feeding

    private func feed() {
        guard self.failure == nil, !self.wasStopped, let run = self.run else { return }
        guard !run.isBehind else { return self.later(after: 20_000_000) { self.feed() } }
        guard let item = self.items.popLast() else {
            self.engine?.close()
            self.isFed = true
            return self.finishIfDrained()
        }
        self.take(item, run)
        self.later(after: Int64.random(in: 0...1_000_000, using: &self.life.scheduler.random)) { self.feed() }
    }

    private func take(_ item: TableItem, _ run: DatasetRun) {
        switch item {
        case .fault(let row, _, let message):
            guard let fetch = run.take(row) else { return }
            run.refuse(fetch, code: DatasetRun.badRow, message)
        case .row(let row, _):
            guard let fetch = run.take(row) else { return }
            guard let url = try? HTTPURL(row.url) else {
                return run.refuse(fetch, code: DatasetRun.badRow, "the URL cannot be used")
            }
            var request = DownloadRequest([url], options: self.life.options)
            if !run.writesShards, let path = row.name, let slash = path.lastIndex(of: "/") {
                request.name = String(path[path.index(after: slash)...])
                request.directory = "\(self.life.options.directory)/\(path[..<slash])"
            }
            run.prepare(&request, for: fetch)
            do throws(EngineError) {
                try self.engine?.add(request)
            } catch {
                run.refuse(fetch, code: DatasetRun.badRow, error.message)
            }
        }
    }

    // MARK: The end

    private func finish() {
        guard self.ending == nil, let run = self.run else { return }
        if self.failure == nil {
            do throws(StorageError) { try run.finish() } catch { self.failure = error }
        }
        self.exit(self.failure.map { .failed($0, run.summary) } ?? .complete(run.summary))
    }

    private func exit(_ ending: Ending) {
        // A killed process does not come to its end.
        guard self.process.isAlive else { return }
        self.ending = ending
        self.later(after: 20_000_000) { self.process.kill() }
    }

    /// Whether it has opened its report, and has not ended.
    var isRunning: Bool { self.run != nil && self.ending == nil && self.process.isAlive }

    /// Whether it ended without a kill.
    var hasExited: Bool { self.ending != nil && !self.process.isAlive }

    /// Releases everything after the end of the process.
    func dispose() {
        self.process.dispose(self.life.scheduler) {
            self.engine?.cancelAll()
            self.engine = nil
            self.run = nil
        }
    }

    /// The unfinished work, for a world that does not end.
    var state: String { "\(self.engine.map { "\($0.counts)" } ?? "no engine"), \(self.items.count) rows are not fed" }
}
