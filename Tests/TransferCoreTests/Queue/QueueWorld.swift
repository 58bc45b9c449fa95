// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

/// A store and an engine, each as simple as can be, with a ``QueueMachine`` between them.
///
/// The store performs requests one after the other and answers in that order; the engine reports in its order. Either
/// takes any time for it.
struct QueueWorld {
    enum State: Hashable { case waiting, paused, finished, removed }

    struct Stored: Hashable {
        var id: UInt64
        var lane: String?
        var host: Int64
        var priority: Int
        var state = State.waiting
    }

    enum Request {
        case add([Stored], at: Int?, QueueMachine.Claim?)
        case setState([UInt64], State)
        case move(UInt64, Int)
        case prioritize(UInt64, Int)
        case change(UInt64)
        case ends([(String?, UInt64)])
        case claim(String?, QueueMachine.Claim)
        case trim(Int)
    }

    enum Answer {
        case added(String?, Int, mayPrecede: Bool)
        case paused(String?, [UInt64])
        case resumed(String?, [UInt64])
        case removed(String?, [UInt64])
        case reordered(String?)
        case changed(String?, UInt64)
        case stored([(String?, UInt64)])
        case claimed(String?, QueueMachine.Claim, [QueueMachine.Claimed])
        case dropped(String?)
        case trimmed(Int)
        case nothing
    }

    struct Given {
        var lane: String?
        var host: Int64
        var runs = false
        var retries = false
        var isCancelled = false
    }

    enum Event {
        case started(String?, UInt64)
        case retrying(String?, UInt64)
        case ended(String?, UInt64)
        case cancelled(String?, UInt64)
    }

    var random: SeededGenerator
    var machine = QueueMachine()
    var now: Int64 = 0
    let limit = 3

    // The store.
    var line: [Stored] = []
    var requests: [Request] = []
    var answers: [(Answer, [String?: LaneCounts])] = []
    var endings: [UInt64: Int] = [:]
    var heard: [String?: LaneCounts] = [:]
    var finished: Set<UInt64> = []
    var forgotten = 0

    // The engine.
    var given: [UInt64: Given] = [:]
    var queue: [UInt64] = []
    var events: [Event] = []
    /// The hosts whose transfers the engine does not start.
    var heldHosts: Set<Int64> = []

    // The machine's requests and the events that it got.
    var records: [(String?, UInt64)] = []
    var touchable: Set<UInt64> = []
    var starts = 0

    let lanes: [String?] = [nil, "s"]
    let hosts = [Int64](1...4)

    init(seed: UInt64) {
        self.random = SeededGenerator(seed: seed)
        self.begin()
    }

    mutating func begin() {
        self.machine = QueueMachine()
        self.machine.setHistory(limit: 50, forgetsFailed: false)
        for lane in self.lanes {
            self.machine.counted(lane, self.counts(lane))
            self.machine.open(lane, limit: self.limit)
        }
        self.heard = [nil: self.counts(nil), "s": self.counts("s")]
        self.pump()
    }

    mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self.random) }

    func counts(_ lane: String?) -> LaneCounts {
        var counts = LaneCounts()
        for one in self.line where one.lane == lane {
            switch one.state {
            case .waiting: counts.waiting += 1
            case .paused: counts.paused += 1
            case .finished: counts.finished += 1
            case .removed: counts.removed += 1
            }
        }
        return counts
    }

    /// Those that wait in a lane, in the order in which they are to run.
    func turns(_ lane: String?) -> [Stored] {
        self.line.enumerated().filter { $0.element.lane == lane && $0.element.state == .waiting }
            .sorted { ($1.element.priority, $0.offset) < ($0.element.priority, $1.offset) }.map(\.element)
    }

    // MARK: The driver

    mutating func pump() {
        while let action = self.machine.next(now: self.now) {
            switch action {
            case .claim(let lane, let claim): self.requests.append(.claim(lane, claim))
            case .withdraw(let lane, let ids):
                var gone: Set<UInt64> = []
                for id in ids where self.given[id].map({ !$0.runs && !$0.retries }) ?? false {
                    self.given[id] = nil
                    self.queue.removeAll { $0 == id }
                    gone.insert(id)
                }
                self.machine.withdrew(lane, ids, gone: gone)
            case .cancel(_, let id, _):
                let isAsked = self.touchable.contains(id) || self.given[id] == nil
                #expect(isAsked, "\(id) was cancelled, and nothing was asked of it")
                // It may have ended already.
                self.given[id]?.isCancelled = true
            case .stage(let lane, let ids):
                for id in ids {
                    #expect(self.given[id] == nil, "\(id) was given to the engine twice")
                    let hasFinished = self.finished.contains(id)
                    #expect(!hasFinished, "\(id) was staged after its end")
                    let isRecorded = self.records.contains { $0.1 == id }
                    #expect(!isRecorded, "\(id) was staged while its end was being stored")
                    self.touchable.remove(id)
                    self.given[id] = Given(lane: lane, host: self.machine.entry(id, in: lane)?.host ?? 0)
                    self.queue.append(id)
                }
            case .limit: break
            case .store:
                self.requests.append(.ends(self.records))
                self.records = []
            case .trim(let keeping): self.requests.append(.trim(keeping))
            case .wake: break
            }
        }
        for (lane, counts) in self.heard { #expect(self.machine.counts(of: lane) == counts) }
    }

    // MARK: The store

    /// Performs the first request.
    mutating func work() {
        guard !self.requests.isEmpty else { return }
        var answer = Answer.nothing
        switch self.requests.removeFirst() {
        case .add(let added, _, .some) where self.pick(4) == 0: answer = .dropped(added[0].lane)
        case .add(let added, let place, let claim):
            if let place {
                self.line.insert(contentsOf: added, at: min(place, self.line.count))
            } else {
                self.line += added
            }
            let priority = added.map(\.priority).max() ?? 0
            answer = .added(added[0].lane, priority, mayPrecede: place != nil)
            guard let claim else { break }
            // In one transaction: both are reported.
            self.answers.append((answer, [nil: self.counts(nil), "s": self.counts("s")]))
            answer = self.claimed(added[0].lane, claim)
        case .setState(let ids, let state):
            var changed: [UInt64] = []
            var lane: String?
            for index in self.line.indices where ids.contains(self.line[index].id) {
                switch (self.line[index].state, state) {
                case (.waiting, .paused), (.paused, .waiting), (.waiting, .removed), (.paused, .removed):
                    self.line[index].state = state
                    lane = self.line[index].lane
                    changed.append(self.line[index].id)
                    if state == .removed { self.endings[self.line[index].id, default: 0] += 1 }
                default: break
                }
            }
            guard !changed.isEmpty else { break }
            switch state {
            case .paused: answer = .paused(lane, changed)
            case .waiting: answer = .resumed(lane, changed)
            default: answer = .removed(lane, changed)
            }
        case .move(let id, let place):
            guard let index = self.line.firstIndex(where: { $0.id == id }) else { break }
            let one = self.line.remove(at: index)
            self.line.insert(one, at: min(place, self.line.count))
            answer = .reordered(one.lane)
        case .prioritize(let id, let priority):
            guard let index = self.line.firstIndex(where: { $0.id == id && $0.state == .waiting }) else { break }
            self.line[index].priority = priority
            answer = .reordered(self.line[index].lane)
        case .change(let id):
            guard let one = self.line.first(where: { $0.id == id }) else { break }
            answer = .changed(one.lane, id)
        case .ends(let ends):
            for (_, id) in ends {
                guard let index = self.line.firstIndex(where: { $0.id == id }),
                    self.line[index].state == .waiting || self.line[index].state == .paused
                else { continue }
                self.line[index].state = .finished
                self.finished.insert(id)
                self.endings[id, default: 0] += 1
            }
            answer = .stored(ends)
        case .claim(let lane, let claim): answer = self.claimed(lane, claim)
        case .trim(let keeping):
            let ended = self.line.indices.filter {
                self.line[$0].lane == nil && (self.line[$0].state == .finished || self.line[$0].state == .removed)
            }
            let surplus = Set(ended.prefix(max(0, ended.count - keeping)).prefix(1000).map { self.line[$0].id })
            self.line.removeAll { surplus.contains($0.id) }
            self.forgotten += surplus.count
            answer = .trimmed(surplus.count)
        }
        self.answers.append((answer, [nil: self.counts(nil), "s": self.counts("s")]))
    }

    private func claimed(_ lane: String?, _ claim: QueueMachine.Claim) -> Answer {
        var caps = claim.caps
        let found = self.turns(lane).filter { !claim.excluded.contains($0.id) }
            .filter { one in
                guard let left = caps[one.host] else { return true }
                caps[one.host] = left - 1
                return left > 0
            }
            .prefix(claim.limit)
        return .claimed(
            lane,
            claim,
            found.map { QueueMachine.Claimed(id: $0.id, host: $0.host, priority: $0.priority) }
        )
    }

    /// The machine is notified of the first answer, or of several and of events of the engine before its effects are
    /// performed.
    mutating func hear() {
        var asked: Set<UInt64> = []
        repeat {
            guard !self.answers.isEmpty else { break }
            self.hearOne(&asked)
            if self.pick(3) == 0 { self.hearEvent() }
        } while self.pick(3) == 0
        self.pump()
        for id in asked where self.given[id] != nil {
            #expect(self.given[id]?.isCancelled == true, "\(id) keeps running though it was asked to stop")
        }
    }

    private mutating func hearOne(_ asked: inout Set<UInt64>) {
        let (answer, counts) = self.answers.removeFirst()
        for (lane, counts) in counts {
            self.machine.counted(lane, counts)
            self.heard[lane] = counts
        }
        switch answer {
        case .added(let lane, let priority, let mayPrecede):
            self.machine.added(lane, priority: priority, mayPrecede: mayPrecede)
        case .paused(let lane, let ids):
            self.touchable.formUnion(ids)
            asked.formUnion(ids)
            self.machine.paused(lane, ids)
        case .resumed(let lane, let ids):
            asked.subtract(ids)
            self.machine.resumed(lane, ids)
        case .removed(let lane, let ids):
            self.touchable.formUnion(ids)
            asked.formUnion(ids)
            self.machine.removed(lane, ids, keeping: true)
        case .reordered(let lane): self.machine.reordered(lane)
        case .changed(let lane, let id):
            self.touchable.insert(id)
            self.machine.changed(lane, id)
        case .stored(let ends):
            for (lane, id) in ends { self.machine.endStored(lane, id) }
            self.machine.stored()
        case .claimed(let lane, let claim, let found): self.machine.claimed(lane, claim, found)
        case .dropped(let lane): self.machine.claimDropped(lane)
        case .trimmed(let count): self.machine.trimmed(count, now: self.now)
        case .nothing: break
        }
    }

    // MARK: The engine

    mutating func run() {
        let active = self.given.values.count { $0.runs }
        if let id = self.given.filter({ $0.value.isCancelled }).keys.min(), self.pick(3) > 0 {
            let one = self.given.removeValue(forKey: id)
            self.queue.removeAll { $0 == id }
            // One that is cancelled may end all the same.
            let ends = one?.runs == true && self.pick(4) == 0
            self.events.append(ends ? .ended(one?.lane, id) : .cancelled(one?.lane, id))
            return
        }
        let startable = self.queue.first { id in
            guard let one = self.given[id], !one.runs, !one.isCancelled else { return false }
            return !self.heldHosts.contains(one.host)
                && self.given.values.count { $0.runs && $0.lane == one.lane } < self.limit
        }
        if let startable, self.pick(2) == 0 || active == 0 {
            self.given[startable]?.runs = true
            self.given[startable]?.retries = false
            self.starts += 1
            self.events.append(.started(self.given[startable]?.lane, startable))
            #expect(self.given.values.count { $0.runs } <= 2 * self.limit)
            return
        }
        guard let id = self.given.filter({ $0.value.runs && !$0.value.isCancelled }).keys.min() else { return }
        if self.pick(6) == 0 {
            self.given[id]?.runs = false
            self.given[id]?.retries = true
            self.events.append(.retrying(self.given[id]?.lane, id))
        } else {
            let one = self.given.removeValue(forKey: id)
            self.queue.removeAll { $0 == id }
            self.events.append(.ended(one?.lane, id))
        }
    }

    /// The machine gets the engine's first event.
    mutating func listen() {
        guard !self.events.isEmpty else { return }
        self.hearEvent()
        self.pump()
    }

    private mutating func hearEvent() {
        guard !self.events.isEmpty else { return }
        switch self.events.removeFirst() {
        case .started(let lane, let id): _ = self.machine.started(lane, id)
        case .retrying(let lane, let id): self.machine.retrying(lane, id)
        case .ended(let lane, let id):
            if self.machine.ended(lane, id) {
                self.records.append((lane, id))
                self.machine.recorded()
            }
        case .cancelled(let lane, let id): _ = self.machine.cancelled(lane, id)
        }
    }

    // MARK: Kills and rest

    /// Everything but the store is lost, with what it was asked and has not done.
    mutating func kill() {
        self.requests = []
        self.answers = []
        self.events = []
        self.given = [:]
        self.queue = []
        self.records = []
        self.heldHosts = []
        self.touchable = []
        self.begin()
    }

    /// Everything that is under way arrives; the engine starts and ends nothing.
    mutating func settle() {
        for _ in 0..<10_000 {
            while let id = self.given.filter({ $0.value.isCancelled }).keys.min() {
                let one = self.given.removeValue(forKey: id)
                self.queue.removeAll { $0 == id }
                self.events.append(.cancelled(one?.lane, id))
            }
            if self.requests.isEmpty, self.answers.isEmpty, self.events.isEmpty {
                self.now += 1_000_000_000
                self.machine.woke()
                self.pump()
                if self.requests.isEmpty, self.answers.isEmpty { return }
            }
            self.listen()
            self.work()
            self.hear()
        }
        Issue.record("the queue does not settle")
    }
}
