// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore
import TransferEngine
import TransferTesting

/// Downloads by the engine to the disk, as by `martlet get`: started again after each kill, until the files are there.
package struct DownloadWorld: World {
    package static let kind = "download"

    package static func run(_ recipe: inout Recipe, _ trace: Trace) -> WorldEnd {
        self.end(of: DownloadLife(&recipe, trace))
    }
}

/// One download world from its beginning to its end.
final class DownloadLife: WorldLife {
    static let directory = "downloads"
    /// The number of pieces of work after which a world is said not to end.
    static let mostSteps = 400_000
    /// The time without any work after which each wait must have a cause, in nanoseconds: longer than work takes.
    static let idle: Int64 = 50_000_000
    /// The number of times that the user starts the command.
    static let mostRuns = 7

    let scheduler: Scheduler
    let network: SimulatedNetwork
    let disk: SimulatedDisk
    let trace: Trace
    let sites: [Site]
    /// The host of all sites, if there is one.
    let sharedHost: SharedHost?
    let wishes: DownloadWishes
    let kills: [(kill: Kill, losesPower: Bool)]
    let hands: Hands
    let faults: DiskFaults
    let clock: MachineClock
    let twinDelay: Int64?
    let actions: [(time: Int64, action: UserAction)]
    /// The pause of everything right after a failure, which is counted from 1.
    let pauseAtFailure: (failure: Int, delay: Int64, length: Int64)?
    private var failures = 0
    /// Whether the power fails right after the first file is reported as finished.
    let losesPowerAtEnd: Bool
    /// The requested pause of the only job: no request may come in it, except at its beginning.
    var pause: Range<Int64> = 0..<0
    /// The time before which the site asked not to be asked again, and the process that it told.
    var notBefore: (time: Int64, process: Int)?
    /// The time of the last request to each host, and its process.
    var lastRequests: [String: (time: Int64, process: Int)] = [:]
    /// The files that are finished and were synced.
    var durable: [String: [UInt8]] = [:]
    /// The cancelled jobs whose partial files were to be deleted.
    var deletable: Set<Int> = []
    var command: Command?
    var twin: Command?
    var runs = 0
    /// How often transfers have started: each start examines the file again.
    var starts = 0
    var killed = 0
    var powerLosses = 0
    var processes = 0
    var endings: [Command.Ending] = []
    /// How each job ended last; `nil` if it has not.
    var last: [Command.Ending?]
    var wasCancelled: Set<Int> = []
    var mutations = 0
    var deadline: [Kill] = []
    var result = WorldEnd()

    init(_ recipe: inout Recipe, _ trace: Trace) {
        let scheduler = Scheduler(seed: recipe.draw(0...UInt64.max))
        self.scheduler = scheduler
        self.trace = trace
        trace.time = { scheduler.now }
        self.network = SimulatedNetwork(scheduler, trace)
        self.disk = SimulatedDisk(seed: recipe.draw(0...UInt64.max)) { scheduler.wallNanoseconds }
        var kind = recipe.pick(Site.Kind.allCases.map { ($0.weight, $0) })
        var count = recipe.draw(0...9) == 0 ? recipe.draw(2...6) : 1
        self.sharedHost = count > 1 && recipe.draw(0...1) == 0 ? SharedHost(&recipe) : nil
        let isOut = (self.sharedHost?.outage ?? 0) > 0
        recipe.isCalm = recipe.draw(0...2) == 0 && (isOut || kind == .nodes)
        if recipe.isCalm, isOut { (kind, count) = (.honest, max(3, count)) }
        var sites: [Site] = []
        for number in 0..<count {
            // Both sides of 256 KiB: smaller files are stored otherwise.
            let isSmall = recipe.draw(0...9) < (kind == .honest ? 4 : kind == .parallel ? 0 : 2) || number > 0
            let size = isSmall ? recipe.draw(1...250 << 10) : recipe.draw(260 << 10...600 << 10)
            sites.append(
                Site(
                    &recipe,
                    kind: kind,
                    number: number,
                    size: max(size, 4096),
                    host: self.sharedHost == nil ? "site\(number)" : SharedHost.name,
                    scheduler: scheduler,
                    trace: trace
                )
            )
        }
        self.sites = sites
        self.wishes = DownloadWishes(&recipe, sites: sites)
        self.last = Array(repeating: nil, count: sites.count)
        self.kills = Self.kills(&recipe, kind, sites[0].size)
        self.hands = Hands(&recipe, sites: sites, disk: self.disk, scheduler: scheduler)
        self.faults = DiskFaults(&recipe, disk: self.disk, scheduler: scheduler, isRare: kind == .honest)
        let twinDelay = Int64(recipe.draw(0...500)) * 1_000_000
        // Without locks two processes do not know of each other (Docs/Limitations.md).
        self.twinDelay =
            self.disk.features.locks
                && recipe.has(oneIn: 15, "a second process downloads the same after \(twinDelay / 1_000_000) ms")
            ? twinDelay : nil
        self.actions = Self.actions(&recipe, jobs: sites.count)
        let pause = (
            failure: recipe.draw(1...3), delay: Int64(recipe.draw(0...1500)) * 1000,
            length: Int64(recipe.draw(5...60)) * 1_000_000_000
        )
        self.pauseAtFailure =
            recipe.has(oneIn: 12, "the user pauses everything \(pause.delay / 1000) µs after failure \(pause.failure)")
            ? pause : nil
        self.losesPowerAtEnd = recipe.has(oneIn: 12, "the machine loses its power when the first file is finished")
        self.clock = MachineClock(&recipe)
        self.drawNetwork(&recipe)
        for site in sites { for host in site.hosts { self.network.servers[host] = site } }
        if let sharedHost {
            sharedHost.sites = sites
            self.network.servers[SharedHost.name] = sharedHost
        }
        for site in sites { trace.add("world", site.text) }
        for ingredient in recipe.ingredients { trace.add("world", "[\(ingredient.number)] \(ingredient.text)") }
        scheduler.onProcess = { [disk = self.disk] in disk.process = $0?.number ?? 0 }
    }

    // MARK: Living

    func live() -> WorldEnd {
        self.disk.onCall = { [unowned self] in self.fault($0) }
        self.disk.onKill = { [unowned self] in self.processDied($0) }
        self.network.onDelivered = { [unowned self] process, count in
            if let command, command.process.number == process { command.arrived(count) }
        }
        self.disk.makeDirectories(Self.directory)
        for site in self.sites { site.onRetryAfter = { [unowned self] in self.asked($0, $1) } }
        self.network.onRequest = { [unowned self] in self.judge($0) }
        self.clock.start(self.scheduler, self.trace)
        self.hands.prepare()
        self.network.onFailed = { [unowned self] in self.exchangeFailed() }
        for (time, action) in self.actions { self.scheduler.schedule(after: time) { self.perform(action) } }
        self.start()
        if let twinDelay { self.scheduler.schedule(after: twinDelay) { self.startTwin() } }
        while self.scheduler.steps < Self.mostSteps {
            if self.scheduler.idleTime > Self.idle { self.command?.judgeWaits() }
            guard self.scheduler.step() else { break }
            self.afterStep()
        }
        self.finish()
        return self.result
    }

    /// Starts the command for every unfinished job.
    private func start() {
        guard
            self.last.indices.contains(where: { !(self.last[$0]?.isDone ?? false) && !self.wasCancelled.contains($0) })
        else { return }
        self.runs += 1
        self.mutations = 0
        self.trace.add("user", "starts the command")
        let command = self.newCommand()
        self.command = command
        command.add(self.last.indices.filter { !(self.last[$0]?.isDone ?? false) && !self.wasCancelled.contains($0) })
        let place = self.runs - 1
        if place < self.kills.count {
            switch self.kills[place].kill {
            case .time(let time): self.scheduler.schedule(after: time, in: command.process) { self.kill(command) }
            case .bytes, .call, .difference: break
            }
        }
    }

    private func startTwin() {
        self.trace.add("user", "starts a second process")
        let twin = self.newCommand()
        self.twin = twin
        twin.add(Array(self.last.indices))
    }

    private func newCommand() -> Command {
        self.processes += 1
        return Command(self, SimulatedProcess(number: self.processes))
    }

    private func afterStep() {
        if let command, !command.process.isAlive { self.ended(command) }
        if let twin, !twin.process.isAlive {
            self.twin = nil
            self.dispose(twin)
        }
    }

    /// A process has exited or was killed.
    private func ended(_ command: Command) {
        self.command = nil
        let place = self.runs - 1
        let wasKilled = !command.hasExited
        self.dispose(command)
        // A program that replaces a file which another process has open makes both files unreliable.
        if self.twinDelay == nil { self.hands.processEnded() }
        let isAtEnd = wasKilled && self.losesPowerAtEnd && !self.durable.isEmpty && self.powerLosses == 0
        let losesPower = isAtEnd || wasKilled && place < self.kills.count && self.kills[place].losesPower
        if losesPower {
            self.trace.add("world", "the machine loses its power")
            self.powerLosses += 1
            if let twin { twin.process.kill() }
            self.disk.losePower()
            self.judgeDurable()
        }
        // A difference is recorded at once, if the disk does not refuse it, and synced a moment later.
        for site in self.sites
        where wasKilled && self.faults.hasFaults
            || losesPower && self.scheduler.now - site.differenceFoundAt < 10_000_000
        {
            site.isDifferenceKnown = false
        }
        var isAgain = wasKilled
        if !wasKilled {
            let hasFailed = self.last.indices.contains {
                !(self.last[$0]?.isDone ?? false) && !self.wasCancelled.contains($0)
            }
            isAgain = hasFailed && self.wishes.triesAgain
            if !hasFailed, self.sites[0].kind == .again, self.sites[0].steps == 0 {
                for site in self.sites { site.steps += 1 }
                self.judgeFiles()
                self.last = self.last.map { _ in nil }
                isAgain = true
            }
        }
        guard isAgain, self.runs < Self.mostRuns else { return }
        self.scheduler.schedule(after: Int64.random(in: 0...3_000_000_000, using: &self.scheduler.random)) {
            self.start()
        }
    }

    /// Releases what a process had; first its system calls must have no effect any more.
    func dispose(_ command: Command) {
        self.disk.endProcess(command.process.number)
        command.dispose()
    }

    // MARK: Kills

    func kill(_ command: Command) {
        guard command.process.isAlive, !command.hasExited else { return }
        self.trace.add("world", "process \(command.process.number) is killed")
        self.killed += 1
        command.process.kill()
    }

    private func processDied(_ number: Int) {
        guard let command, command.process.number == number else { return }
        self.kill(command)
    }

    /// Decides about a call of the file system.
    private func fault(_ call: DiskCall) -> DiskFault {
        if call.name.hasPrefix("rename") || call.name.hasPrefix("link") { self.hands.naming(call.path) }
        guard let command, command.process.number == call.process, command.process.isAlive else {
            return self.faults.fault(call)
        }
        let place = self.runs - 1
        if call.changes {
            self.mutations += 1
            if place < self.kills.count, case .call(let number, let isBefore) = self.kills[place].kill,
                number == self.mutations
            {
                return isBefore ? .killBefore : .killAfter
            }
        }
        return self.faults.fault(call)
    }

    /// Bytes were received: they may be the last ones.
    func received(_ command: Command) {
        let place = self.runs - 1
        guard self.command === command, place < self.kills.count, case .bytes(let count) = self.kills[place].kill,
            command.received >= count
        else { return }
        self.kill(command)
    }

    /// A transfer has found that the bytes of two responses differ.
    func foundDifference(_ command: Command, _ site: Site) {
        site.isDifferenceKnown = true
        site.differenceFoundAt = self.scheduler.now
        let place = self.runs - 1
        guard self.command === command, place < self.kills.count, case .difference(let time) = self.kills[place].kill
        else { return }
        self.scheduler.schedule(after: time, in: command.process) { self.kill(command) }
    }

    // MARK: The user

    private func exchangeFailed() {
        self.failures += 1
        // The response with the time may not have arrived.
        self.notBefore = nil
        guard let pauseAtFailure, self.failures == pauseAtFailure.failure else { return }
        self.scheduler.schedule(after: pauseAtFailure.delay) { self.perform(.pauseAll(for: pauseAtFailure.length)) }
    }

    private func perform(_ action: UserAction) {
        guard let command, command.process.isAlive else { return }
        self.trace.add("user", action.text)
        if self.sites.count == 1, self.twinDelay == nil, self.wishes.additions == 0,
            self.actions.count + (self.pauseAtFailure == nil ? 0 : 1) == 1
        {
            switch action {
            case .pause(_, let length), .pauseAll(let length):
                self.pause = self.scheduler.now..<self.scheduler.now + length
            default: break
            }
        }
        self.scheduler.perform(as: command.process) { command.perform(action) }
    }
}
