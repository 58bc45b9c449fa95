// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import Platform
import TransferCore
import TransferTesting

/// A daemon with its queue on the disk: a user who adds, pauses and removes, and processes that are killed.
///
/// The core's tasks run on the world's scheduler and its database on the world's disk. Both replace parts of the whole
/// process, see ``prepare()``.
package struct DaemonWorld: World {
    package static let kind = "daemon"

    /// Replaces the executor of tasks and the file system of SQLite in this process, for ever.
    ///
    /// For the simulator alone, before its first task.
    package static func prepare() {
        VirtualConcurrency.install()
        SimulatedSQLite.register()
    }

    package static func run(_ recipe: inout Recipe, _ trace: Trace) -> WorldEnd {
        let life = DaemonLife(&recipe, trace)
        return FileCalls.simulating(life.disk) {
            SimulatedSQLite.reset()
            return VirtualConcurrency.running(on: life.scheduler) { life.live() }
        }
    }
}

/// One daemon's world from its beginning to its end.
final class DaemonLife {
    /// The number of pieces of work after which a world is said not to end.
    static let mostSteps = 400_000
    /// The time after the user's last request in which everything must have ended.
    static let patience: Int64 = 4 * 3600 * 1_000_000_000

    let scheduler: Scheduler
    let network: SimulatedNetwork
    let disk: SimulatedDisk
    let site: DaemonSite
    let trace: Trace
    let terms: DaemonTerms
    let clock: MachineClock
    var ledger: DaemonLedger
    var result = WorldEnd()

    var daemon: WorldDaemon?
    /// The process that has ended and is not yet released.
    var lives = 0
    private var changes = 0
    /// The request that has not been answered.
    var pending: DaemonRequest?
    /// The time of the last answer to a request of the user.
    var answeredAt: Int64 = 0
    /// Whether the current process was asked to stop.
    private var isStopping = false
    var nextStep = 0
    var phase = Phase.script
    var phaseBegan: Int64 = 0
    /// The files of complete transfers, as reported to the user, by the paths of their URLs.
    var complete: [String: String] = [:]
    /// The versions of the complete files, by the paths of their URLs.
    var versions: [String: Int] = [:]
    /// The paths of transfers that had begun, and were not complete, when the power was lost.
    var exposed: Set<String> = []
    /// The paths of transfers that had just begun when a process was killed: the queue does not know their files.
    var unknown: Set<String> = []
    /// The schedules that the queue had.
    var schedules = DaemonSchedules()
    /// The facts that the events of the current process have reported.
    var heard = DaemonHeard()
    var hasLostPower = false
    /// When each path was requested last.
    var requestedAt: [String: Int64] = [:]
    /// The faults of the disk.
    var faults: DaemonFaults
    var finalRecords: [TransferRecord] = []
    /// The last list.
    var lastSeen: [TransferRecord] = []

    enum Phase { case script, ending, again, over }

    init(_ recipe: inout Recipe, _ trace: Trace) {
        let scheduler = Scheduler(seed: recipe.draw(0...UInt64.max))
        self.scheduler = scheduler
        self.trace = trace
        trace.time = { scheduler.now }
        self.network = SimulatedNetwork(scheduler, trace)
        self.disk = SimulatedDisk(seed: recipe.draw(0...UInt64.max)) { scheduler.wallNanoseconds }
        self.terms = DaemonTerms(&recipe)
        self.ledger = DaemonLedger(concurrent: self.terms.concurrent)
        self.site = DaemonSite(scheduler, trace, rate: self.terms.rate)
        self.network.servers["site.example"] = self.site
        self.clock = MachineClock(&recipe, within: 600_000_000_000)
        self.schedules.clock = self.clock.steps
        self.faults = DaemonFaults(&recipe)
        self.drawOutage(&recipe)
        if recipe.has(oneIn: 4, "names and attributes survive a loss of power in any order") {
            self.disk.order = .independent
        }
        for ingredient in recipe.ingredients { trace.add("world", "[\(ingredient.number)] \(ingredient.text)") }
        scheduler.onProcess = { [disk = self.disk] in disk.process = $0?.number ?? 0 }
    }

    private func drawOutage(_ recipe: inout Recipe) {
        let start = Int64(recipe.draw(0...3000)) * 1_000_000
        let length = Int64(recipe.pick([recipe.draw(10...500), recipe.draw(1000...60_000)])) * 1_000_000
        let code = recipe.pick([TransportError.Code.refused, .unreachable, .connectTimeout])
        let breaks = recipe.draw(0...1) == 0
        let text = "the site is out (\(code.rawValue)) from \(start / 1_000_000) ms for \(length / 1_000_000) ms"
        guard recipe.has(oneIn: 6, breaks ? "\(text), and connections break" : text) else { return }
        self.network.outages = [
            SimulatedNetwork.Outage(host: nil, time: start..<start + length, code: code, breaksConnections: breaks)
        ]
    }

    // MARK: Living

    func live() -> WorldEnd {
        self.disk.onCall = { [unowned self] in self.fault($0) }
        self.disk.onKill = { [unowned self] in self.died($0) }
        self.site.onRequest = { [unowned self] in self.requested($0, $1) }
        self.clock.start(self.scheduler, self.trace)
        self.faults.start(self.scheduler, self.disk, self.trace)
        self.disk.makeDirectories(WorldDaemon.state)
        self.disk.makeDirectories(WorldDaemon.downloads)
        self.start()
        while self.phase != .over, self.scheduler.steps < Self.mostSteps {
            // Also before the first step: the daemon may have been killed while it opened the queue.
            if let daemon, !daemon.process.isAlive { self.ended(daemon) }
            guard self.scheduler.step() else { break }
        }
        if self.phase != .over { self.fail("the world does not end: \(self.phase), \(self.waitingText)") }
        if let daemon {
            self.disk.endProcess(daemon.process.number)
            daemon.dispose()
        }
        self.scheduler.end()
        self.result.count("processes", self.lives)
        self.result.count("requests of the user", self.nextStep)
        self.result.count("requests to the site", self.network.requests)
        self.result.count("transfers", self.ledger.ids.count)
        return self.result
    }

    var waitingText: String {
        let text = self.daemon?.core.map { "\($0.counts)" } ?? "no queue is open"
        return self.pending.map { "\(text); unanswered: \($0.text(self.ledger.number))" } ?? text
    }

    func fail(_ text: String) {
        guard !self.result.broken.contains(text) else { return }
        self.trace.add("judge", text)
        self.result.fail(text)
    }

    private func start() {
        self.lives += 1
        self.changes = 0
        let daemon = WorldDaemon(
            self.lives,
            self.scheduler,
            self.network,
            self.trace,
            self.terms,
            self
        )
        self.daemon = daemon
        self.heard = DaemonHeard(uncertain: self.heard.uncertain)
        SimulatedSQLite.current = { [unowned daemon] in daemon.databases }
        self.trace.add(daemon.name, "starts")
        if self.phase == .script, let death = self.terms.deaths.first(where: { $0.life == daemon.process.number }),
            case .time(let time) = death.moment
        {
            self.scheduler.schedule(after: time, in: daemon.process) { [unowned self] in self.kill(daemon) }
        }
        daemon.start()
    }

    // MARK: Deaths

    private func kill(_ daemon: WorldDaemon) {
        guard daemon.process.isAlive else { return }
        self.trace.add("world", "\(daemon.name) is killed")
        self.result.count("kills")
        for (path, time) in self.requestedAt where self.scheduler.now - time < 1_000_000_000 {
            if self.complete[path] == nil { self.unknown.insert(path) }
        }
        self.heard.uncertain.formUnion(self.heard.started)
        daemon.process.kill()
    }

    private func died(_ number: Int) {
        if let daemon, daemon.process.number == number { self.kill(daemon) }
    }

    private func fault(_ call: DiskCall) -> DiskFault {
        guard let daemon, daemon.process.number == call.process, daemon.process.isAlive else { return .none }
        if call.changes { self.changes += 1 }
        if call.changes, self.phase == .script,
            let death = self.terms.deaths.first(where: { $0.life == call.process }),
            case .call(let number, let isBefore) = death.moment, number == self.changes
        {
            return isBefore ? .killBefore : .killAfter
        }
        let fault = self.faults.fault(call, at: self.scheduler.now)
        if fault != .none { self.result.count("calls of the file system that fail") }
        return fault
    }

    /// A process has stopped or was killed.
    private func ended(_ daemon: WorldDaemon) {
        let wasAsked = self.isStopping
        self.isStopping = false
        // First of all: what the dead process does while it is released must have no effect.
        self.disk.endProcess(daemon.process.number)
        daemon.dispose()
        self.daemon = nil
        if let pending {
            self.ledger.maybeDone(pending)
            self.schedules.set(self.ledger.schedule, at: self.scheduler.now)
            self.pending = nil
        }
        if !wasAsked, self.terms.deaths.contains(where: { $0.life == daemon.process.number && $0.losesPower }) {
            self.trace.add("world", "the machine loses its power")
            self.result.count("losses of power")
            self.hasLostPower = true
            for (path, resource) in self.site.resources where resource.requests > 0 && self.complete[path] == nil {
                self.exposed.insert(path)
            }
            self.disk.losePower()
        }
        guard self.phase != .over else { return }
        self.scheduler.schedule(after: Int64.random(in: 0...2_000_000_000, using: &self.scheduler.random)) {
            [unowned self] in self.start()
        }
    }

    /// Asks the daemon to stop.
    func stop() {
        guard let daemon else { return }
        self.trace.add("user", "stops the daemon")
        self.isStopping = true
        daemon.stop()
    }
}

extension DaemonLife: WorldDaemon.Observer {
    func opened(_ daemon: WorldDaemon, _ error: String?) {
        if let error {
            self.trace.add(daemon.name, "cannot start: \(error)")
            if !self.faults.hasDatabaseTrouble { self.fail("\(daemon.name) cannot start: \(error)") }
            self.result.count("starts that failed")
            if self.lives > 40 { self.phase = .over } else { daemon.process.kill() }
            return
        }
        self.trace.add(daemon.name, "has opened the queue")
        switch self.phase {
        case .script: self.inspect { [unowned self] in self.next() }
        case .ending: self.await()
        case .again: self.inspect { [unowned self] in self.judgeAgain() }
        case .over: break
        }
    }

    func stopped(_ daemon: WorldDaemon) {
        self.trace.add(daemon.name, "has stopped")
        let open = self.disk.openDescriptors(of: daemon.process.number)
        // The store of files keeps the directories of its files open.
        if open > 1 { self.fail("\(daemon.name) has \(open) descriptors open after it has stopped") }
        daemon.process.kill()
    }
}
