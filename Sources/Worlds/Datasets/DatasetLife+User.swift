// SPDX-License-Identifier: Apache-2.0
import Datasets
import TransferCore

/// The user of a dataset world: stops, a second process, and the failed rows once more.
extension DatasetLife {
    static let retried = "/out/retried.jsonl"
    static let moreShards = "/out/more"

    /// The report of the present phase.
    var reportPath: String { self.retry == nil ? Self.report : Self.retried }

    /// The directory of the shards of the present phase.
    var shardsPath: String { self.retry?.isElsewhere == true ? Self.moreShards : Self.shards }

    /// The order of the next run.
    var nextOrder: DatasetOrder {
        var order = self.order
        if self.runs > 1 {
            if let fetches = self.user.laterFetches { order.fetches = fetches }
            if let limits = self.user.laterLimits, let idle = order.shards?.limits.idle {
                order.shards?.limits = limits
                order.shards?.limits.idle = idle
            } else if let limits = self.user.laterLimits {
                order.shards?.limits = limits
            }
        }
        guard let retry else { return order }
        order.table = Self.report
        order.parser = TableParser(reportWithAllFailed: retry.all)
        order.isRetry = true
        order.report = self.reportPath
        order.shards?.directory = self.shardsPath
        if self.writesShards { order.terms = [JSON.Member("shards", .string(self.shardsPath))] }
        return order
    }

    // MARK: Stopping

    func scheduleActions(_ command: DatasetCommand) {
        if let retry {
            guard let time = retry.kill else { return }
            self.retry?.kill = nil
            self.scheduler.schedule(after: time, in: command.process) { self.kill(command) }
            return
        }
        guard self.complete == nil else { return }
        if let time = self.user.stops[self.runs] {
            self.scheduler.schedule(after: time, in: command.process) {
                self.trace.add("user", "stops the run")
                self.result.count("stops by the user")
                command.stop()
            }
        }
        if let (time, twin) = self.user.twin, self.runs == 1 {
            self.scheduler.schedule(after: time) { self.start(twin) }
        }
    }

    // MARK: A second process

    private func start(_ twin: DatasetUser.Twin) {
        guard let command, command.isRunning, self.complete == nil, self.disk.features.locks,
            !self.disk.isReadOnly
        else { return }
        self.trace.add("user", "starts a second run \(twin.rawValue)")
        var order = self.nextOrder
        if twin == .sameShards { order.report = "/out/twin.jsonl" }
        let before = self.contents(of: "/out")
        let process = SimulatedProcess(number: Self.twinNumber)
        let other = DatasetCommand(self, process, order)
        other.start()
        switch (other.ending, twin) {
        case (.refused(.busy), .sameReport):
            self.result.count("second runs refused")
        case (.refused(.storage(let error)), .sameShards) where error.message.contains("another process does"):
            self.result.count("second runs refused")
        // The user deletes the temporary file of its own report.
        case (.refused(.storage(let error)), .sameShards) where error.message.contains("'/out/twin.jsonl"):
            self.result.count("second runs without a report")
        default:
            self.result.fail("a second run \(twin.rawValue) is not refused: \(other.ending.map { "\($0)" } ?? "runs")")
        }
        process.kill()
        other.dispose()
        self.disk.endProcess(process.number)
        for path in ["/out/twin.jsonl", "/out/twin.jsonl.origin"] { self.disk.remove(path) }
        if self.contents(of: "/out") != before {
            self.result.fail("a second run that is refused has changed something")
        }
    }

    private func contents(of directory: String) -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        for name in self.disk.names(inDirectory: directory) {
            let path = "\(directory)/\(name)"
            if let bytes = self.disk.contents(path) {
                contents[path] = bytes
            } else {
                contents.merge(self.contents(of: path)) { $1 }
            }
        }
        return contents
    }

    // MARK: The failed rows once more

    /// Begins to fetch the failed rows of the complete report again.
    ///
    /// - Returns: Whether the user does.
    func beginRetry() -> Bool {
        guard self.retry == nil, let retry = self.user.retry else { return false }
        let report = self.report(isComplete: true)
        self.wanted = self.table.rows.filter { row in
            guard let line = report.lines[row.number], line["error_code"]?.string != nil else { return false }
            return retry.all || line["retryable"]?.bool == true
        }
        self.first = report
        self.retry = retry
        self.runsOfRetry = 0
        self.trace.add("user", "fetches \(self.wanted.count) failed rows again")
        self.result.count("rows fetched again", self.wanted.count)
        return true
    }

    /// Judges the end of a run that fetches the failed rows again.
    ///
    /// - Returns: Whether the user starts it once more.
    func retryStartsAgain(_ command: DatasetCommand, _ wasKilled: Bool) -> Bool {
        self.runsOfRetry += 1
        if wasKilled { return true }
        guard case .complete(let summary) = command.ending, summary.unfinished == 0, !summary.isTableIncomplete else {
            self.result.fail("the failed rows cannot be fetched again: \(command.ending.map { "\($0)" } ?? "")")
            return false
        }
        self.judgeRetry()
        return false
    }

    private func judgeRetry() {
        guard let complete else { return }
        let report = self.judgeReport(isComplete: true)
        self.judgeLeftovers([self.first, report].compactMap(\.self))
        if self.disk.contents(Self.report) != complete.report {
            self.result.fail("a retry has changed the first report")
        }
        for (name, bytes) in complete.shards.sorted(by: { $0.key < $1.key })
        where self.disk.contents("\(Self.shards)/\(name)") != bytes {
            self.result.fail("a retry has changed the shard \(name) of the first report")
        }
    }
}
