// SPDX-License-Identifier: Apache-2.0
import Datasets
import Platform
import TransferCore
import TransferEngine
import TransferTesting

/// Datasets: tables of rows become shards or files with a report, over kills, losses of power and full disks.
package struct DatasetWorld: World {
    package static let kind = "dataset"

    package static func run(_ recipe: inout Recipe, _ trace: Trace) -> WorldEnd {
        self.end(of: DatasetLife(&recipe, trace))
    }
}

/// One dataset world from its beginning to its end.
final class DatasetLife: WorldLife {
    static let report = "/out/report.jsonl"
    static let shards = "/out/shards"
    static let files = "/out/files"
    /// The number of the second process.
    static let twinNumber = 1000
    /// The number of pieces of work after which a world is said not to end.
    static let mostSteps = 400_000
    /// The runs after the first ones, in which nothing fails any more, until the report must be complete.
    static let faultyRuns = 4

    let scheduler: Scheduler
    let network: SimulatedNetwork
    let disk: SimulatedDisk
    let trace: Trace
    let site: DatasetSite
    let table: DatasetTable
    let faults: DiskFaults
    let clock: MachineClock
    let hands: DatasetHands
    let user: DatasetUser
    var order: DatasetOrder
    let writesShards: Bool
    let fetches: Int
    let lanes: Int
    var options = DownloadOptions()

    var runs = 0
    var kills = 0
    var powerLosses = 0
    var result = WorldEnd()
    /// The report at the start of the run.
    var before = DatasetReport(nil, isComplete: false)
    /// The rows that the present phase fetches.
    var wanted: [DatasetTable.Row]
    /// The failed rows that are fetched once more; `nil` until then.
    var retry: DatasetUser.Retry?
    /// The number of runs that fetch them.
    var runsOfRetry = 0
    /// The complete report whose failed rows are fetched once more.
    var first: DatasetReport?
    /// The files when the report was complete; another run must not change them.
    var complete: Snapshot?

    private(set) var command: DatasetCommand?
    private var mutations = 0
    private let planned: [(kill: Kill, losesPower: Bool)]

    /// The report, the shards and the number of requests at a time.
    struct Snapshot: Equatable {
        var report: [UInt8]?
        var shards: [String: [UInt8]]
        var requests: Int
    }

    init(_ recipe: inout Recipe, _ trace: Trace) {
        let scheduler = Scheduler(seed: recipe.draw(0...UInt64.max))
        self.scheduler = scheduler
        self.trace = trace
        trace.time = { scheduler.now }
        self.network = SimulatedNetwork(scheduler, trace)
        let disk = SimulatedDisk(seed: recipe.draw(0...UInt64.max)) { scheduler.wallNanoseconds }
        self.disk = disk
        self.site = DatasetSite(&recipe, scheduler, trace)
        self.table = DatasetTable(&recipe, items: self.site.items)
        self.wanted = self.table.rows
        self.writesShards = recipe.draw(0...3) > 0
        self.fetches = recipe.pick([1, 2, 5, 8])
        self.lanes = recipe.draw(1...2)
        self.order = DatasetOrder(table: DatasetTable.path, parser: TableParser(.jsonl))
        self.planned = Self.kills(&recipe, bytes: self.site.items.reduce(0) { $0 + $1.content.bytes.count })
        self.faults = DiskFaults(&recipe, disk: disk, scheduler: scheduler, isRare: false)
        self.clock = MachineClock(&recipe)
        self.hands = DatasetHands(&recipe, disk, trace, writesShards: self.writesShards)
        self.user = DatasetUser(&recipe, writesShards: self.writesShards)
        // A process does not sync the directories that another one has created.
        if disk.order == .independent { disk.makeDirectories("/out/shards") }
        self.drawOrder(&recipe)
        self.drawNetwork(&recipe)
        self.drawIdleShards(&recipe)
        for host in DatasetItem.hosts { self.network.servers[host] = self.site }
        let place = self.writesShards ? "shards" : "files"
        trace.add("world", "\(self.table.rows.count) rows, \(self.site.items.count) items, \(place)")
        for ingredient in recipe.ingredients { trace.add("world", "[\(ingredient.number)] \(ingredient.text)") }
        scheduler.onProcess = { disk.process = $0?.number ?? 0 }
    }

    private static func kills(_ recipe: inout Recipe, bytes: Int) -> [(kill: Kill, losesPower: Bool)] {
        var kills: [(kill: Kill, losesPower: Bool)] = []
        for rarity in [2, 3, 4] {
            let isBefore = recipe.draw(0...1) == 0
            let kill = recipe.pick([
                Kill.time(Int64(recipe.draw(0...2500)) * 1_000_000), .call(recipe.draw(1...80), isBefore: isBefore),
                .call(recipe.draw(1...30), isBefore: isBefore), .bytes(Int64(recipe.draw(0...bytes))),
            ])
            let losesPower = recipe.draw(0...2) == 0
            let text = losesPower ? "the machine loses its power" : "the process is killed"
            if recipe.has(oneIn: rarity, "\(text) \(kill.text)") { kills.append((kill, losesPower)) }
        }
        return kills
    }

    private func drawOrder(_ recipe: inout Recipe) {
        self.order.report = Self.report
        self.order.fetches = self.fetches
        let limits = ShardLimits(
            bytes: recipe.pick([4096, 40_000, 200_000, 1 << 30]),
            samples: recipe.pick([1, 2, 3, 5, 10_000])
        )
        let most = Int64(recipe.draw(0...30_000))
        if self.writesShards {
            self.order.shards = DatasetOrder.Shards(directory: Self.shards, limits: limits)
            self.order.terms = [JSON.Member("shards", .string(Self.shards))]
            if recipe.has(oneIn: 8, "contents of more than \(most) bytes are not wanted") {
                self.order.filter = SampleFilter(maximum: most)
            }
        } else {
            self.order.directory = Self.files
            self.order.terms = [JSON.Member("directory", .string(Self.files))]
        }
        self.options.directory = Self.files
        self.options.retries = recipe.pick([0, 1, 2, 5])
        self.options.retryWait = recipe.pick([.zero, .milliseconds(100)])
        self.options.stallTimeout = .seconds(recipe.pick([8, 30]))
        self.options.connectTimeout = .seconds(recipe.pick([5, 30]))
        let outage = recipe.pick([60, 600])
        if recipe.draw(0...1) == 0 { self.options.outageTimeout = .seconds(outage) }
        if recipe.has(oneIn: 8, "every file is synced") { self.options.durable = true }
    }

    private func drawNetwork(_ recipe: inout Recipe) {
        self.network.roundTrip = recipe.pick([200_000, 2_000_000, 20_000_000])
        if recipe.has(oneIn: 10, "idle connections are closed by the server") { self.network.staleOneIn = 3 }
        if recipe.has(oneIn: 20, "connections fail for want of descriptors") { self.network.shortageOneIn = 6 }
        let start = Int64(recipe.draw(0...1500)) * 1_000_000
        let length = Int64(recipe.pick([recipe.draw(10...500), recipe.draw(1000...100_000)])) * 1_000_000
        let code = recipe.pick([TransportError.Code.refused, .unreachable, .connectTimeout, .nameResolution])
        let host = recipe.draw(0...1) == 0 ? nil : DatasetItem.hosts[0]
        let text =
            "\(host ?? "every host") is out (\(code.rawValue)) from \(start / 1_000_000) ms for "
            + "\(length / 1_000_000) ms"
        if recipe.has(oneIn: 8, text) {
            self.network.outages = [
                .init(host: host, time: start..<start + length, code: code, breaksConnections: true)
            ]
        }
    }

    private func drawIdleShards(_ recipe: inout Recipe) {
        let idle = recipe.pick([5, 100, 2000])
        guard recipe.has(oneIn: 3, "a shard to which nothing is added for \(idle) ms is closed") else { return }
        self.order.shards?.limits.idle = Int64(idle) * 1_000_000
    }

    // MARK: Living

    func live() -> WorldEnd {
        self.disk.put(DatasetTable.path, self.table.bytes)
        self.disk.makeDirectories("/out")
        self.disk.onCall = { [unowned self] in self.fault($0) }
        self.disk.onKill = { [unowned self] in self.processDied($0) }
        self.network.onDelivered = { [unowned self] in self.delivered($1, to: $0) }
        self.clock.start(self.scheduler, self.trace)
        self.hands.start(self.scheduler) { [unowned self] in self.complete != nil }
        self.start()
        while self.scheduler.steps < Self.mostSteps {
            if let command, !command.process.isAlive { self.ended(command) }
            guard self.scheduler.step() else { break }
        }
        if let command {
            self.result.fail("the world does not end after \(self.scheduler.steps) steps: \(command.state)")
            command.process.kill()
            command.dispose()
        } else if self.complete == nil {
            self.result.fail("the report is not complete after \(self.runs) runs")
        }
        self.judgeForeignFiles()
        self.count()
        return self.result
    }

    private func count() {
        self.result.count("kills", self.kills)
        self.result.count("power losses", self.powerLosses)
        self.result.count("runs", self.runs)
        self.result.count("requests", self.site.requests)
        self.result.count("rows", self.table.rows.count)
        self.result.count("ranges", self.site.ranges)
        for fault in self.site.used { self.result.count("server \(fault.rawValue)") }
    }

    private var mayFail: Bool { self.runs <= Self.faultyRuns }

    private func start() {
        self.runs += 1
        self.site.run = self.runs
        self.mutations = 0
        if !self.mayFail || self.retry != nil {
            self.disk.capacity = 1 << 40
            self.disk.isReadOnly = false
        }
        self.before = self.judgeReport(isComplete: false)
        self.trace.add("user", "starts the run")
        let command = DatasetCommand(self, SimulatedProcess(number: self.runs), self.nextOrder)
        self.command = command
        command.start()
        self.scheduleActions(command)
        if self.retry == nil, self.runs <= self.planned.count, case .time(let time) = self.planned[self.runs - 1].kill {
            self.scheduler.schedule(after: time, in: command.process) { self.kill(command) }
        }
    }

    /// A process has exited or was killed.
    private func ended(_ command: DatasetCommand) {
        self.command = nil
        let wasKilled = !command.hasExited
        command.dispose()
        if !wasKilled { self.judgeExit(of: command) }
        self.judgeTraffic(of: command.process.number)
        self.disk.endProcess(command.process.number)
        if wasKilled, self.retry == nil, self.runs <= self.planned.count, self.planned[self.runs - 1].losesPower {
            self.trace.add("world", "the machine loses its power")
            self.powerLosses += 1
            self.disk.losePower()
        }
        guard self.startsAgain(command, wasKilled) else { return }
        self.scheduler.schedule(after: Int64.random(in: 0...3_000_000_000, using: &self.scheduler.random)) {
            self.start()
        }
    }

    private func startsAgain(_ command: DatasetCommand, _ wasKilled: Bool) -> Bool {
        if let complete {
            if self.retry != nil { return self.retryStartsAgain(command, wasKilled) }
            // The repeated run.
            if self.snapshot != complete { self.result.fail("a run after the end has changed something") }
            return self.beginRetry()
        }
        if !wasKilled, case .complete(let summary) = command.ending, summary.unfinished == 0,
            !summary.isTableIncomplete, !command.wasStopped
        {
            self.judgeLeftovers([self.judgeReport(isComplete: true)])
            self.complete = self.snapshot
            return true
        }
        return self.runs < Self.faultyRuns + 3
    }

    var snapshot: Snapshot {
        var shards: [String: [UInt8]] = [:]
        for name in self.disk.names(inDirectory: Self.shards) where name.hasSuffix(".tar") {
            shards[name] = self.disk.contents("\(Self.shards)/\(name)")
        }
        return Snapshot(report: self.disk.contents(Self.report), shards: shards, requests: self.site.requests)
    }

    // MARK: What happens meanwhile

    func kill(_ command: DatasetCommand) {
        guard command.process.isAlive, self.complete == nil || self.retry != nil else { return }
        self.trace.add("world", "process \(command.process.number) is killed")
        self.kills += 1
        command.process.kill()
    }

    private func processDied(_ number: Int) {
        guard let command, command.process.number == number else { return }
        self.kill(command)
    }

    private func fault(_ call: DiskCall) -> DiskFault {
        if call.name.hasPrefix("rename"), self.complete == nil { self.hands.naming(at: self.scheduler.now) }
        guard let command, command.process.number == call.process, command.process.isAlive, self.mayFail,
            self.complete == nil
        else { return .none }
        if call.changes {
            self.mutations += 1
            if self.runs <= self.planned.count, case .call(let number, let isBefore) = self.planned[self.runs - 1].kill,
                number == self.mutations
            {
                return isBefore ? .killBefore : .killAfter
            }
        }
        return self.faults.fault(call)
    }

    private func delivered(_ count: Int, to process: Int) {
        guard let command, command.process.number == process else { return }
        command.received += Int64(count)
        guard self.retry == nil, self.runs <= self.planned.count,
            case .bytes(let most) = self.planned[self.runs - 1].kill,
            command.received >= most
        else { return }
        self.kill(command)
    }
}
