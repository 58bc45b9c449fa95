// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferTesting

/// A random walk of an ``EngineMachine`` beside a ``NaiveQueue``: both get the same events, and must agree.
struct EngineWalk {
    var machine: EngineMachine
    var naive: NaiveQueue
    var random: SeededGenerator
    /// The first disagreement, with which the walk ends.
    private(set) var complaint: String?
    private(set) var steps = 0
    /// How often each kind of step was seen, and each refusal.
    private(set) var seen: [String: Int] = [:]
    private var timers: [Int64] = []
    private var taken: Set<String> = []
    private var isSyncStarted = false
    private var syncing: [UInt64] = []
    private var waits: [(number: WaiterID, condition: WaitCondition)] = []
    private var added = 0
    /// Whether hosts are away most of the time.
    private var isAway = false
    /// The most transfers at once: with few of them there are free places, with many there are none.
    private let crowd: Int
    private let hosts = ["a", "b", "c"]

    init(seed: Int) {
        self.random = SeededGenerator(seed: UInt64(seed))
        self.crowd = Int.random(in: 4...30, using: &self.random)
        let limit = Int.random(in: 1...6, using: &self.random)
        let perHost = Bool.random(using: &self.random) ? nil : Int.random(in: 1...6, using: &self.random)
        self.machine = EngineMachine(limit: limit, connectionsPerHost: perHost, lanes: 2)
        self.naive = NaiveQueue(limit: limit, perHost: perHost)
        self.machine.start()
    }

    /// Walks, then closes the queue and lets everything end.
    mutating func run(steps: Int) {
        for _ in 0..<steps where self.complaint == nil {
            self.steps += 1
            self.act()
            // Events of several threads may precede the next steps.
            if self.chance(70) { self.drain() }
            self.compare()
        }
        self.finish()
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self.random) < percent }

    private mutating func check(_ holds: Bool, _ complaint: @autoclosure () -> String) {
        if !holds, self.complaint == nil { self.complaint = "step \(self.steps): \(complaint())" }
    }

    private mutating func pick(_ isCandidate: (NaiveQueue.Item) -> Bool) -> NaiveQueue.Item? {
        self.naive.items.filter(isCandidate).randomElement(using: &self.random)
    }

    /// Most often the same host, so that its connections are scarce.
    private mutating func host() -> String {
        self.chance(60) ? "a" : self.hosts.randomElement(using: &self.random) ?? "a"
    }

    // MARK: Events

    private mutating func act() {
        switch Int.random(in: 0..<100, using: &self.random) {
        case 0..<14: self.add()
        case 14..<18: self.pause()
        case 18..<23: self.resume()
        case 23..<26: self.cancel()
        case 26..<28: self.setPriority()
        case 28..<38: self.endRun()
        case 38..<40: self.reach()
        case 40..<64: for _ in 0..<3 { self.acquire() }
        case 64..<70: self.release()
        case 70..<74: self.claim()
        case 74..<76: self.refuse()
        case 76..<85: self.pass(Int64.random(in: 0...400_000_000, using: &self.random))
        case 85..<87:
            self.pass(Int64.random(in: 4_000_000_000...9_000_000_000, using: &self.random))
            self.tick()
        case 87:
            self.pass(Int64.random(in: 0...5_000_000_000, using: &self.random))
            self.isAway = self.chance(50)
        case 88..<91: self.changeLimits()
        case 91..<93: self.reserve()
        case 93..<95: self.releaseFile()
        case 95..<97: self.sync()
        case 97..<99: self.tick()
        default: self.wait()
        }
    }

    private mutating func add() {
        guard self.naive.items.count < self.crowd else { return }
        var terms = EngineMachine.Terms(origin: MachineStage.origin(self.host()))
        terms.priority = Priority.allCases.randomElement(using: &self.random) ?? .normal
        terms.retries = Int.random(in: 0...3, using: &self.random)
        terms.fixedConnections = self.chance(25) ? Int.random(in: 1...6, using: &self.random) : nil
        terms.isDurable = self.chance(30)
        terms.outageTimeout = self.chance(80) ? Int64.random(in: 0...20, using: &self.random) * 1_000_000_000 : nil
        terms.countsOutages = self.chance(20)
        if self.chance(40) { terms.totalTimeout = Int64.random(in: 1...15, using: &self.random) * 1_000_000_000 }
        let id = self.machine.add(terms)
        self.added += 1
        self.check(id.rawValue == UInt64(self.added), "ids do not count up")
        self.naive.items.append(
            NaiveQueue.Item(
                id: id.rawValue,
                host: terms.origin.host,
                priority: terms.priority,
                fixed: terms.fixedConnections ?? 0,
                retries: terms.retries,
                isDurable: terms.isDurable,
                patience: terms.outageTimeout,
                countsOutages: terms.countsOutages,
                total: terms.totalTimeout
            )
        )
        self.naive.wasAdded(self.naive.items.count - 1)
        self.naive.enterLine(self.naive.items.count - 1, atFront: false)
    }

    private mutating func pause() {
        guard let item = self.pick({ _ in true }), let index = self.naive.index(item.id) else { return }
        let verdict = self.machine.pause(TransferID(item.id), now: self.naive.now)
        switch item.state {
        case .running where item.hasRun:
            if item.cancelKeeping == nil {
                self.naive.items[index].isPausing = true
                self.naive.items[index].isResumed = false
            }
            self.check(verdict == .interrupt, "pausing \(item.id) gave \(verdict)")
        case .waiting, .retrying:
            self.naive.items[index].state = .paused
            self.naive.items[index].isExpired = false
            self.check(verdict == .paused, "pausing \(item.id) gave \(verdict)")
        default: self.check(verdict == .unchanged, "pausing \(item.id) gave \(verdict)")
        }
    }

    private mutating func resume() {
        guard let item = self.pick({ $0.state == .paused || $0.hasRun }), let index = self.naive.index(item.id) else {
            return
        }
        let verdict = self.machine.resume(TransferID(item.id))
        if item.state == .paused {
            self.naive.enterLine(index, atFront: false)
            self.check(verdict == .waiting, "resuming \(item.id) gave \(verdict)")
        } else {
            if item.isPausing {
                self.naive.items[index].isPausing = false
                self.naive.items[index].isResumed = true
            }
            self.check(verdict == .unchanged, "resuming \(item.id) gave \(verdict)")
        }
    }

    private mutating func cancel() {
        guard let item = self.pick({ _ in true }), let index = self.naive.index(item.id) else { return }
        let keeping = self.chance(50)
        let verdict = self.machine.cancel(TransferID(item.id), keeping: keeping)
        if item.hasRun {
            self.naive.items[index].cancelKeeping = keeping
            self.naive.items[index].isPausing = false
            self.naive.items[index].isResumed = false
            self.check(verdict == .interrupt, "cancelling \(item.id) gave \(verdict)")
        } else if item.isSyncing {
            self.check(verdict == .unchanged, "cancelling \(item.id) gave \(verdict)")
        } else {
            self.naive.remove(index)
            self.check(verdict == .cancelled(keeping: keeping), "cancelling \(item.id) gave \(verdict)")
        }
    }

    private mutating func setPriority() {
        guard let item = self.pick({ _ in true }), let index = self.naive.index(item.id) else { return }
        let priority = Priority.allCases.randomElement(using: &self.random) ?? .normal
        self.machine.setPriority(priority, of: TransferID(item.id))
        guard priority != item.priority else { return }
        self.naive.items[index].priority = priority
        if item.state == .waiting { self.naive.enterLine(index, atFront: false) }
    }

    private mutating func endRun() {
        guard let item = self.pick({ $0.hasRun }) else { return }
        self.end(item, self.result(of: item))
    }

    private mutating func result(of item: NaiveQueue.Item) -> EngineMachine.RunResult {
        if self.chance(60) {
            if let keeping = item.cancelKeeping { return .cancelled(keeping: keeping) }
            if item.isPausing { return .paused }
        }
        switch Int.random(in: 0..<10, using: &self.random) {
        case 0..<4: return .finished(isSkipped: self.chance(20))
        case 4: return .failed
        case 5: return .stopped
        case 6: return item.isPausing || item.isResumed ? .paused : .failed
        default:
            return .retry(self.failure())
        }
    }

    /// For a while hosts are away, then they are back.
    private mutating func failure() -> EngineMachine.Failure {
        if self.chance(30) {
            var failure = EngineMachine.Failure(jitter: 0)
            failure.awaitsFile = true
            return failure
        }
        let chosen = self.chance(25) ? Int64.random(in: -1...2_000_000_000, using: &self.random) : nil
        if chosen != nil { self.seen["chosen delay", default: 0] += 1 }
        let causes: [OutageCause] = [.refused, .refused, .broken, .unreachable, .unreachable, .resolver, .timeout]
        if self.chance(self.isAway ? 80 : 10), let cause = causes.randomElement(using: &self.random) {
            var failure = EngineMachine.Failure(OutageEvidence(cause), jitter: 0)
            failure.chosenDelay = chosen
            return failure
        }
        var failure = EngineMachine.Failure(
            isThrottled: self.chance(40),
            isShortage: self.chance(15) && chosen == nil,
            retryAfter: self.chance(20) ? Int64.random(in: 0...2, using: &self.random) : nil,
            jitter: Double.random(in: 0...1, using: &self.random)
        )
        failure.chosenDelay = chosen
        return failure
    }

    /// Another process may have finished a transfer's file; most transfers do not wait for one.
    private mutating func releaseFile() {
        guard let item = self.pick({ $0.state == .retrying(at: .max) }) ?? self.pick({ _ in true }) else { return }
        self.releaseFile(of: item)
    }

    private mutating func releaseFile(of item: NaiveQueue.Item) {
        guard let index = self.naive.index(item.id) else { return }
        let isAwaited = item.state == .retrying(at: .max)
        let awaits = self.machine.awaitsFile(TransferID(item.id), since: item.attempts)
        self.check(awaits == isAwaited, "\(item.id) awaits its file: \(awaits)")
        self.machine.fileReleased(TransferID(item.id), since: item.attempts)
        if isAwaited {
            self.naive.enterLine(index, atFront: true)
            self.seen["file released", default: 0] += 1
        }
    }

    /// A run that probes is connected, or has its response.
    private mutating func reach() {
        guard let item = self.pick({ $0.hasRun && $0.probe != nil }) ?? self.pick({ $0.hasRun }) else { return }
        let hasResponse = self.chance(50)
        if hasResponse {
            self.machine.hostResponds(to: TransferID(item.id), status: 200, now: self.naive.now)
            self.naive.responds(item.id)
        }
        self.machine.hostReached(TransferID(item.id), status: hasResponse ? 200 : nil, now: self.naive.now)
        self.naive.reached(item.id, hasResponse: hasResponse)
    }

    private mutating func end(_ item: NaiveQueue.Item, _ result: EngineMachine.RunResult) {
        guard let index = self.naive.index(item.id) else { return }
        for host in item.connections.shuffled(using: &self.random) {
            self.machine.connectionReleased(MachineStage.origin(host), by: TransferID(item.id))
        }
        self.naive.items[index].connections = []
        var tally = EngineMachine.Tally()
        tally.hasResponse = self.chance(self.isAway ? 5 : 40)
        tally.duration = self.chance(30) ? Int64.random(in: 0...2_000_000_000, using: &self.random) : 0
        tally.kept = self.chance(20) ? Int64.random(in: 0...1000, using: &self.random) : 0
        let verdict = self.machine.runEnded(TransferID(item.id), result, tally, now: self.naive.now)
        self.seen[String(String(describing: verdict).prefix { $0 != "(" }), default: 0] += 1
        if case .refused(let refusal) = verdict {
            self.seen[String(String(describing: refusal).prefix { $0 != "(" }), default: 0] += 1
        }
        let expected = self.naive.runEnded(item.id, result, tally)
        guard let expected else {
            guard case .refused(.outage(let hold)) = verdict else {
                return self.check(false, "the end of \(item.id) gave \(verdict), not a failure in an outage")
            }
            return self.check(self.naive.now - hold.since >= item.patience ?? .max, "\(item.id) failed early")
        }
        self.check(verdict == expected, "the end of \(item.id) by \(result) gave \(verdict), not \(expected)")
    }

    private mutating func tick() {
        let continues = self.machine.ticked(now: self.naive.now)
        self.check(continues == self.naive.items.contains { $0.hasRun }, "ticking continues: \(continues)")
        let before = self.naive.silentHosts.count
        self.naive.ticked()
        if self.naive.silentHosts.count > before { self.seen["silent", default: 0] += 1 }
    }

    private mutating func acquire() {
        guard let item = self.pick({ !$0.connections.isEmpty }), let index = self.naive.index(item.id) else { return }
        let host = self.chance(80) ? item.host : self.host()
        let origin = MachineStage.origin(host)
        let isGranted = self.machine.acquireConnection(origin, for: TransferID(item.id), now: self.naive.now)
        self.check(
            isGranted == self.naive.mayAcquire(item, host),
            "a further connection of \(item.id) to \(host): \(isGranted)"
        )
        if isGranted { self.naive.items[index].connections.append(host) }
        self.seen[isGranted ? "granted further" : "refused further", default: 0] += 1
    }

    private mutating func release() {
        guard let item = self.pick({ $0.connections.count > 1 }) else { return }
        self.releaseOne(item.id, item.connections.randomElement(using: &self.random) ?? item.host)
    }

    private mutating func releaseOne(_ id: UInt64, _ host: String) {
        guard let index = self.naive.index(id), let place = self.naive.items[index].connections.firstIndex(of: host)
        else { return }
        self.machine.connectionReleased(MachineStage.origin(host), by: TransferID(id))
        self.naive.items[index].connections.remove(at: place)
        if let ask = self.naive.asks.firstIndex(where: { $0.id == id && $0.host == host }) {
            self.naive.asks.remove(at: ask)
        }
    }

    /// A redirect to another host, or a request after the only one was closed.
    private mutating func claim() {
        guard let item = self.pick({ $0.hasRun && $0.connections.count <= 1 && $0.claims.isEmpty }) else { return }
        if let own = item.connections.first { self.releaseOne(item.id, own) }
        guard let index = self.naive.index(item.id) else { return }
        let host = self.host()
        let number = self.machine.awaitConnection(MachineStage.origin(host), for: TransferID(item.id))
        self.naive.items[index].claims.append((host, number))
    }

    private mutating func refuse() {
        let host = self.host()
        guard self.naive.connections(host) > 0 else { return }
        self.machine.connectionRefused(MachineStage.origin(host), now: self.naive.now)
        self.naive.learned[host] = (self.naive.connections(host), self.naive.now + EngineMachine.learnedPeriod)
    }

    /// Time passes; every timer fires at its time.
    private mutating func pass(_ delay: Int64) {
        let end = self.naive.now + delay
        // Events are followed by their steps before time passes.
        self.drain()
        while let time = self.timers.min(), time <= end, self.complaint == nil {
            if let index = self.timers.firstIndex(of: time) { self.timers.remove(at: index) }
            self.naive.pass(to: max(self.naive.now, time))
            self.machine.timeReached(time, now: self.naive.now)
            self.naive.timeReached()
            self.drain()
        }
        self.naive.pass(to: end)
    }

    private mutating func changeLimits() {
        switch Int.random(in: 0..<3, using: &self.random) {
        case 0: self.naive.limit = Int.random(in: 1...6, using: &self.random)
        case 1: self.naive.perHost = self.chance(50) ? nil : Int.random(in: 1...6, using: &self.random)
        default:
            self.naive.hostLimits = self.chance(60) ? [:] : [self.host(): Int.random(in: 1...3, using: &self.random)]
        }
        self.machine.limit = self.naive.limit
        self.machine.connectionsPerHost = self.naive.perHost
        self.machine.hostLimits = self.naive.hostLimits
    }

    private mutating func reserve() {
        if self.chance(30), let name = self.taken.sorted().randomElement(using: &self.random) {
            self.machine.releaseName(FileTarget(directory: "", name: name))
            self.taken.remove(name)
            return
        }
        let base = "f\(Int.random(in: 0..<3, using: &self.random))"
        let target =
            self.chance(70)
            ? self.machine.takeName(directory: "d", base: base) : self.machine.takeNextName(directory: "d", base: base)
        self.check(self.taken.insert(target.path).inserted, "\(target.path) was reserved twice")
        self.check(!self.machine.isNameFree(target), "\(target.path) is reserved and free")
    }

    /// A group of files is synced; the next call has its result.
    private mutating func sync() {
        guard self.isSyncStarted else { return }
        for id in self.syncing {
            guard let index = self.naive.index(id) else { continue }
            if self.chance(70) {
                let verdict = self.machine.synced(TransferID(id))
                self.naive.remove(index)
                self.check(verdict == .finished, "syncing \(id) gave \(verdict)")
                continue
            }
            self.naive.items[index].isSyncing = false
            let failure = self.chance(50) ? EngineMachine.Failure(jitter: 0.5) : nil
            let verdict = self.machine.syncFailed(TransferID(id), failure, now: self.naive.now)
            if let failure {
                let expected = self.naive.retry(index, failure)
                self.check(verdict == expected, "the failed sync of \(id) gave \(verdict), not \(expected)")
            } else {
                self.naive.remove(index)
                self.check(verdict == .failed, "the failed sync of \(id) gave \(verdict)")
            }
        }
        let waiting = self.naive.items.filter { $0.isSyncing && !self.syncing.contains($0.id) }.map(\.id)
        let count = self.machine.takeGroup()
        self.check(count == waiting.count, "\(count) files to sync, not \(waiting.count)")
        self.syncing = waiting
        self.isSyncStarted = count > 0
    }

    private mutating func wait() {
        let conditions = [
            WaitCondition.drained, .stopped, .waiting(atMost: Int.random(in: 0...10, using: &self.random)),
            .starving(
                atMost: Int.random(in: 0...5, using: &self.random),
                limit: Int.random(in: 5...20, using: &self.random)
            ),
        ]
        guard self.waits.count < 10, let condition = conditions.randomElement(using: &self.random) else { return }
        self.waits.append((self.machine.wait(for: condition), condition))
    }

    // MARK: Steps

    private mutating func drain() {
        for _ in 0..<200 where self.complaint == nil {
            let step = self.machine.next(now: self.naive.now, lane: nil)
            self.seen[String(String(describing: step).prefix { $0 != "(" }), default: 0] += 1
            switch step {
            case .start(let id, let lane):
                let complaint = self.naive.start(id.rawValue)
                self.check(complaint == nil, complaint ?? "")
                self.check((0..<2).contains(lane), "\(id) started on lane \(lane)")
            case .grant(let number): self.granted(number)
            case .yield(let id, let origin):
                let complaint = self.naive.ask(id.rawValue, origin.host)
                self.check(complaint == nil, complaint ?? "")
                // Some runs cannot.
                if self.chance(70) { self.releaseOne(id.rawValue, origin.host) }
            case .resume(let number):
                let wait = self.waits.first { $0.number == number }
                let isDue = wait.map { self.holds($0.condition) } ?? false
                self.check(isDue, "a wait was resumed early")
                self.waits.removeAll { $0.number == number }
            case .sync:
                self.check(!self.isSyncStarted, "syncing started twice")
                self.isSyncStarted = true
            case .expire(let id, let hold): self.expired(id.rawValue, hold)
            case .runOut(let id, _): self.ranOut(id.rawValue)
            case .held(let hold): self.check(self.naive.now >= hold.since, "a hold begins in the future")
            case .released: break
            case .startTicking: break
            case .fetchRules(let origin): self.check(false, "rules of \(origin.host) are requested without need")
            case .wake(let time): self.timers.append(time)
            case .none:
                let forgotten = self.naive.forgotten(hosts: self.hosts)
                self.check(forgotten == nil, forgotten ?? "")
                let wait = self.waits.first { self.holds($0.condition) }
                self.check(wait == nil, "wait \(String(describing: wait)) was not resumed")
                let left = self.naive.items.first { $0.isExpired && $0.state == .waiting }
                self.check(left == nil, "\(left?.id ?? 0) waits although the outage lasted too long")
                let late = self.naive.items.first { self.naive.hasRunOut($0) }
                self.check(late == nil, "\(late?.id ?? 0) waits although its time has run out")
                self.checkTimers()
                return
            }
        }
        self.check(false, "the steps do not end")
    }

    private mutating func expired(_ id: UInt64, _ hold: EngineMachine.Hold) {
        guard let index = self.naive.index(id) else { return self.check(false, "\(id) failed twice") }
        let item = self.naive.items[index]
        self.check(item.isExpired && item.state == .waiting, "\(id) failed although it still waits")
        self.check(self.naive.now - hold.since >= item.patience ?? .max, "\(id) failed early")
        self.naive.remove(index)
    }

    private mutating func ranOut(_ id: UInt64) {
        guard let index = self.naive.index(id) else { return self.check(false, "\(id) failed twice") }
        let hasRunOut = self.naive.hasRunOut(self.naive.items[index])
        self.check(hasRunOut, "\(id) failed although it has time left")
        self.naive.remove(index)
    }

    private mutating func granted(_ number: WaiterID) {
        guard let index = self.naive.items.firstIndex(where: { $0.claims.contains { $0.number == number } }),
            let claim = self.naive.items[index].claims.first(where: { $0.number == number })
        else { return self.check(false, "a connection was granted, but no transfer waits for it") }
        let item = self.naive.items[index]
        self.check(!self.naive.isThrottled(claim.host), "a connection to \(claim.host) was granted, which is held")
        self.check(self.naive.isWithinLimit(item, claim.host), "a connection to \(claim.host) beyond the limit")
        self.naive.items[index].claims.removeAll { $0.number == number }
        self.naive.items[index].connections.append(claim.host)
    }

    private func holds(_ condition: WaitCondition) -> Bool {
        let hasStopped = self.naive.isStopping && !self.naive.items.contains { $0.state == .running }
        return switch condition {
        case .stopped: hasStopped
        case .drained: hasStopped || (self.machine.isClosed && self.naive.items.isEmpty)
        case .waiting(let most): self.naive.isStopping || self.naive.items.count { $0.state == .waiting } <= most
        case .starving(let most, let limit):
            self.holds(.waiting(atMost: most))
                || (self.holds(.waiting(atMost: limit))
                    && self.naive.items.count { $0.hasRun } - self.naive.lent
                        < min(self.naive.limit, self.naive.affordable.count))
        }
    }

    /// Every attempt, and every hold for which a transfer waits, must have a timer.
    private mutating func checkTimers() {
        let earliest = self.timers.min() ?? .max
        for item in self.naive.items {
            if case .retrying(let time) = item.state {
                self.check(earliest <= time, "no timer for the attempt of \(item.id)")
            }
            if self.naive.isTimed(item), case .held(let until) = self.naive.permission(item.host) {
                let end = self.naive.now + item.total - item.active
                self.check(until ?? .max < end || earliest <= end, "no timer for the limit of \(item.id)")
            }
            if item.state == .waiting, self.naive.places(item.host) > 0,
                case .held(let until?) = self.naive.permission(item.host)
            {
                self.check(earliest <= until, "no timer for the end of the hold of \(item.host)")
            }
        }
    }

    // MARK: Comparison

    private mutating func compare() {
        for item in self.naive.items {
            let state = self.machine.state(of: TransferID(item.id))
            self.check(state == item.state, "\(item.id) is \(String(describing: state)), not \(item.state)")
        }
        let items = self.naive.items
        self.check(self.machine.waitingCount == items.count { $0.state == .waiting }, "waiting")
        self.check(self.machine.runningCount == items.count { $0.state == .running }, "running")
        self.check(self.machine.pausedCount == items.count { $0.state == .paused }, "paused")
        self.check(self.machine.runCount == items.count { $0.hasRun }, "runs")
        let retrying = items.count { if case .retrying = $0.state { true } else { false } }
        self.check(self.machine.retryingCount == retrying, "retrying")
        let totals = self.machine.totals
        let ended = totals.finished + totals.skipped + totals.failed + totals.cancelled
        self.check(ended == self.naive.ends.count && ended + items.count == self.added, "ends")
        for host in self.hosts {
            let count = self.machine.connections(to: MachineStage.origin(host))
            self.check(count == self.naive.connections(host), "\(count) connections to \(host)")
        }
    }

    /// Closes the queue and lets everything end; each transfer must have ended once, and no connection is left.
    private mutating func finish() {
        self.machine.close()
        self.isAway = false
        for _ in 0..<5000 where self.complaint == nil && !self.naive.items.isEmpty {
            self.drain()
            for item in self.naive.items where item.state == .paused { self.resume(item) }
            for item in self.naive.items where item.state == .retrying(at: .max) { self.releaseFile(of: item) }
            if let item = self.naive.items.first(where: { $0.hasRun }) {
                self.end(item, .finished(isSkipped: false))
                self.drain()
            } else {
                self.sync()
                self.pass(1_000_000_000)
            }
            self.compare()
        }
        self.drain()
        let left = self.naive.items.count
        self.check(left == 0 && self.machine.isIdle, "\(left) transfers never end")
        let isOnce = self.naive.ends.values.allSatisfy { $0 == 1 }
        self.check(isOnce, "a transfer ended twice")
        self.check(self.naive.ends.count == self.added, "a transfer has no end")
    }

    private mutating func resume(_ item: NaiveQueue.Item) {
        guard let index = self.naive.index(item.id) else { return }
        _ = self.machine.resume(TransferID(item.id))
        self.naive.enterLine(index, atFront: false)
    }
}
