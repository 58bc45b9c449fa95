// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore
import TransferEngine
import TransferTesting

/// Uploads by the engine to a server that supports single requests, tus and the IETF draft: started again after kills.
package struct UploadWorld: World {
    package static let kind = "upload"

    package static func run(_ recipe: inout Recipe, _ trace: Trace) -> WorldEnd {
        self.end(of: UploadLife(&recipe, trace))
    }
}

/// One upload world from its beginning to its end.
final class UploadLife: WorldLife {
    /// The number of pieces of work after which a world is said not to end.
    static let mostSteps = 200_000
    /// The number of times that the user starts the command.
    static let mostRuns = 6
    /// The number of the second process.
    static let twinNumber = 1000

    let scheduler: Scheduler
    let network: SimulatedNetwork
    let disk: SimulatedDisk
    let trace: Trace
    let site: UploadSite
    let source: SimulatedSource
    let terms: UploadTerms
    let faults: DiskFaults
    let clock: MachineClock

    var command: UploadCommand?
    /// A second process that uploads the same file.
    var twin: UploadCommand?
    /// Whether there was a second process.
    var hadTwin = false
    /// Whether another program has deleted the journal, or damaged it.
    var hasLostJournal = false
    var runs = 0
    var kills = 0
    var result = WorldEnd()
    /// The processes that were killed.
    var killed: Set<Int> = []
    /// Whether an upload failed because its source changed, and said so.
    var hasReportedChange = false
    /// How the last run ended; `nil` if it was killed.
    var ending: TransferEvent.Kind?
    /// When the user cancelled, in nanoseconds.
    var cancelledAt: Int64?
    /// When the user paused, in nanoseconds.
    var pauses: [Int64] = []
    /// The number of complete uploads when the run started.
    var completionsBefore = 0
    private var changesLeft: [(moment: UploadTerms.Moment, change: SimulatedSource.Change)] = []
    private var actionsLeft: [(moment: UploadTerms.Moment, action: UploadTerms.Action)] = []
    private var read: Int64 = 0
    private var mutations = 0

    init(_ recipe: inout Recipe, _ trace: Trace) {
        let scheduler = Scheduler(seed: recipe.draw(0...UInt64.max))
        self.scheduler = scheduler
        self.trace = trace
        trace.time = { scheduler.now }
        self.network = SimulatedNetwork(scheduler, trace)
        let disk = SimulatedDisk(seed: recipe.draw(0...UInt64.max)) { scheduler.wallNanoseconds }
        self.disk = disk
        self.source = SimulatedSource(&recipe, disk)
        self.site = UploadSite(&recipe, scheduler, trace)
        self.terms = UploadTerms(&recipe, &self.site.model, length: self.source.length)
        self.faults = DiskFaults(&recipe, disk: disk, scheduler: scheduler, isRare: true)
        self.clock = MachineClock(&recipe)
        self.drawNetwork(&recipe)
        for host in UploadSite.hosts { self.network.servers[host] = self.site }
        trace.add("world", "\(self.source.length) bytes, \(self.terms.text)")
        for ingredient in recipe.ingredients { trace.add("world", "[\(ingredient.number)] \(ingredient.text)") }
        scheduler.onProcess = { disk.process = $0?.number ?? 0 }
    }

    private func drawNetwork(_ recipe: inout Recipe) {
        self.network.roundTrip = recipe.pick([200_000, 2_000_000, 20_000_000, 150_000_000])
        if recipe.has(oneIn: 10, "idle connections are closed by the server") { self.network.staleOneIn = 3 }
        if recipe.has(oneIn: 30, "connections fail for want of descriptors") { self.network.shortageOneIn = 6 }
        let start = Int64(recipe.draw(0...1500)) * 1_000_000
        let length = Int64(recipe.pick([recipe.draw(10...500), recipe.draw(1000...100_000)])) * 1_000_000
        let code = recipe.pick([TransportError.Code.refused, .unreachable, .connectTimeout, .nameResolution])
        let breaks = recipe.draw(0...1) == 0
        let text = "every host is out (\(code.rawValue)) from \(start / 1_000_000) ms for \(length / 1_000_000) ms"
        if recipe.has(oneIn: 8, breaks ? "\(text), and connections break" : text) {
            self.network.outages = [
                .init(host: nil, time: start..<start + length, code: code, breaksConnections: breaks)
            ]
        }
    }

    // MARK: Living

    func live() -> WorldEnd {
        self.disk.onCall = { [unowned self] in self.fault($0) }
        self.disk.onKill = { [unowned self] in self.processDied($0) }
        self.site.onRead = { [unowned self] in self.noteRead(by: $0) }
        self.disk.makeDirectories("/notes")
        self.clock.start(self.scheduler, self.trace)
        self.changesLeft = self.terms.changes
        self.actionsLeft = self.terms.actions
        for (moment, change) in self.terms.changes {
            if case .time(let time) = moment { self.scheduler.schedule(after: time) { self.change(change) } }
        }
        for (moment, action) in self.terms.actions {
            if case .time(let time) = moment { self.scheduler.schedule(after: time) { self.perform(action) } }
        }
        if let delay = self.terms.twinDelay { self.scheduler.schedule(after: delay) { self.startTwin() } }
        if let (time, isDamage) = self.terms.journalLoss {
            self.scheduler.schedule(after: time) { self.loseJournal(isDamage: isDamage) }
        }
        self.start()
        while self.scheduler.steps < Self.mostSteps {
            if let command, !command.process.isAlive { self.ended(command) }
            if let twin, !twin.process.isAlive { self.twinEnded(twin) }
            guard self.scheduler.step() else { break }
        }
        self.finish()
        return self.result
    }

    private func start() {
        self.runs += 1
        self.mutations = 0
        self.ending = nil
        self.completionsBefore = self.site.model.completions.count
        self.trace.add("user", "starts the upload")
        let command = UploadCommand(self, SimulatedProcess(number: self.runs))
        self.command = command
        command.start()
        if self.runs <= self.terms.kills.count, case .time(let time) = self.terms.kills[self.runs - 1].kill {
            self.scheduler.schedule(after: time, in: command.process) { self.kill(command) }
        }
    }

    /// A process has exited or was killed.
    private func ended(_ command: UploadCommand) {
        self.command = nil
        let wasKilled = !command.hasExited
        command.dispose()
        if !wasKilled { self.judgeExit(of: command) }
        self.disk.endProcess(command.process.number)
        if wasKilled, self.runs <= self.terms.kills.count, self.terms.kills[self.runs - 1].losesPower {
            self.trace.add("world", "the machine loses its power")
            self.result.count("power losses")
            self.twin?.process.kill()
            self.disk.losePower()
            self.source.lostPower()
        }
        guard self.startsAgain(wasKilled), self.runs < Self.mostRuns else { return }
        self.scheduler.schedule(after: Int64.random(in: 0...3_000_000_000, using: &self.scheduler.random)) {
            self.start()
        }
    }

    private func startsAgain(_ wasKilled: Bool) -> Bool {
        // What must not be repeated, and may have been processed, is not sent again by a careful user.
        if self.terms.method == "POST", self.disk.exists(UploadCommand.note) { return false }
        switch self.ending {
        case .finished: return false
        case .cancelled: return self.cancelledAt == nil
        case .failed: return self.terms.triesAgain && !self.source.wasRemoved
        default: return wasKilled
        }
    }

    // MARK: Others

    private func startTwin() {
        // A careful user does not send once more what must not be repeated.
        guard self.terms.method != "POST" else { return }
        self.trace.add("user", "starts a second upload")
        self.result.count("second processes")
        self.hadTwin = true
        let twin = UploadCommand(self, SimulatedProcess(number: Self.twinNumber))
        self.twin = twin
        twin.start()
    }

    func twinEnded(_ twin: UploadCommand) {
        self.twin = nil
        twin.dispose()
        if twin.hasExited { self.judgeDescriptors(of: twin) }
        self.disk.endProcess(twin.process.number)
    }

    private func loseJournal(isDamage: Bool) {
        for name in self.disk.names(inDirectory: UploadCommand.state) {
            let path = "\(UploadCommand.state)/\(name)"
            self.trace.add("world", "somebody \(isDamage ? "damages" : "deletes") \(path)")
            self.result.count("lost journals")
            self.hasLostJournal = true
            if isDamage { self.disk.change(path, [0, 0x22, 0xFF], at: 3) } else { self.disk.remove(path) }
        }
    }

    // MARK: What happens meanwhile

    private func kill(_ command: UploadCommand) {
        guard command.process.isAlive, !command.hasExited else { return }
        self.trace.add("world", "process \(command.process.number) is killed")
        self.kills += 1
        self.killed.insert(command.process.number)
        command.process.kill()
    }

    private func processDied(_ number: Int) {
        guard let command, command.process.number == number else { return }
        self.kill(command)
    }

    private func fault(_ call: DiskCall) -> DiskFault {
        guard call.process > 0 else { return .none }
        guard let command, command.process.number == call.process, command.process.isAlive else { return .none }
        if call.changes {
            self.mutations += 1
            if self.runs <= self.terms.kills.count,
                case .call(let number, let isBefore) = self.terms.kills[self.runs - 1].kill, number == self.mutations
            {
                return isBefore ? .killBefore : .killAfter
            }
        }
        return self.faults.fault(call)
    }

    /// The server has read content of a process.
    private func noteRead(by process: Int) {
        self.read = self.site.records.values.reduce(0) { $0 + $1.read }
        func isDue(_ moment: UploadTerms.Moment) -> Bool {
            if case .bytes(let count) = moment { count <= self.read } else { false }
        }
        for (moment, change) in self.changesLeft where isDue(moment) {
            self.scheduler.schedule(after: 0) { self.change(change) }
        }
        self.changesLeft.removeAll { isDue($0.moment) }
        for (moment, action) in self.actionsLeft where isDue(moment) {
            self.scheduler.schedule(after: 0) { self.perform(action) }
        }
        self.actionsLeft.removeAll { isDue($0.moment) }
        guard let command, command.process.number == process, self.runs <= self.terms.kills.count,
            case .bytes(let count) = self.terms.kills[self.runs - 1].kill, self.read >= count
        else { return }
        self.scheduler.schedule(after: 0) { self.kill(command) }
    }

    private func change(_ change: SimulatedSource.Change) {
        self.trace.add("world", "another program \(change.rawValue)")
        self.result.count("changes of the source")
        self.source.perform(change, using: &self.scheduler.random)
    }

    private func perform(_ action: UploadTerms.Action) {
        guard let command, command.process.isAlive, self.ending == nil else { return }
        self.trace.add("user", action.text)
        switch action {
        case .pause: self.pauses.append(self.scheduler.now)
        case .cancel: self.cancelledAt = self.cancelledAt ?? self.scheduler.now
        case .rate: break
        }
        self.scheduler.perform(as: command.process) { command.perform(action) }
    }
}
