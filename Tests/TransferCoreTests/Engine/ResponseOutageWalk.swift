// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

/// A queue whose hosts respond at random, with errors, requests to wait, broken connections and files, and recover.
struct ResponseOutageWalk {
    private static let second: Int64 = 1_000_000_000
    private static let hosts = ["a", "b", "c", "d"]
    /// The time at which all hosts recover.
    private static let recovery = 120 * second

    private enum Reply: CaseIterable {
        case file
        case missing
        case error
        case wait
        case broken
        case refused
    }

    private var stage: MachineStage
    private var random: SeededGenerator
    private var replies: [String: Reply] = [:]
    private var isUnrepeatable: Set<UInt64> = []
    private var neverProbes: Set<UInt64> = []
    private(set) var complaint: String?

    init(seed: Int) {
        self.random = SeededGenerator(seed: UInt64(seed))
        self.stage = MachineStage(limit: Int.random(in: 1...8, using: &self.random))
    }

    mutating func run() {
        for _ in 0..<60 { self.add() }
        while !self.stage.machine.isIdle, self.complaint == nil {
            if self.stage.now < Self.recovery, Int.random(in: 0..<4, using: &self.random) == 0 { self.change() }
            if self.stage.now < Self.recovery, Int.random(in: 0..<4, using: &self.random) == 0 { self.command() }
            let starts = self.stage.starts()
            for id in starts.shuffled(using: &self.random) { self.answer(id) }
            if !starts.isEmpty { continue }
            self.verify()
            if self.stage.now >= Self.recovery, self.stage.machine.pausedCount > 0 {
                for id in 1...60 { _ = self.stage.machine.resume(TransferID(UInt64(id))) }
                continue
            }
            guard let next = self.stage.wakeUp ?? (self.stage.now < Self.recovery ? Self.recovery : nil) else { break }
            self.stage.reach(next)
            if self.stage.now >= Self.recovery { self.replies = [:] }
            if self.stage.now > 10 * Self.recovery { self.complaint = "some transfers never end" }
        }
        if !self.stage.machine.isIdle { self.complaint = self.complaint ?? "some transfers are never started" }
        let counts = self.stage.machine.heldCounts(at: self.stage.now)
        if counts.all != 0 || self.stage.machine.waitingAgainCount != 0 {
            self.complaint = self.complaint ?? "an empty queue holds \(counts)"
        }
    }

    private mutating func add() {
        let host = Self.hosts.randomElement(using: &self.random) ?? "a"
        let mayProbe = Int.random(in: 0..<4, using: &self.random) > 0
        let id = self.stage.add(
            host,
            priority: [.low, .normal, .high].randomElement(using: &self.random) ?? .normal,
            retries: Int.random(in: 0...5, using: &self.random),
            patience: [nil, 0, 10 * Self.second, 3600 * Self.second].randomElement(using: &self.random) ?? nil
        ) { terms in
            terms.mayProbe = mayProbe
            terms.countsOutages = Int.random(in: 0..<8, using: &self.random) == 0
            if Int.random(in: 0..<4, using: &self.random) == 0 {
                terms.mirrors = Self.hosts.filter { $0 != host }.prefix(2)
                    .map { EngineMachine.MirrorHost(origin: MachineStage.origin($0)) }
            }
            if host == "d" { terms.gate = MachineStage.origin("proxy") }
        }
        if Int.random(in: 0..<8, using: &self.random) == 0 { self.isUnrepeatable.insert(id.rawValue) }
        if !mayProbe { self.neverProbes.insert(id.rawValue) }
    }

    private mutating func change() {
        let host = Self.hosts.randomElement(using: &self.random) ?? "a"
        self.replies[host] = Reply.allCases.randomElement(using: &self.random)
    }

    private mutating func command() {
        let id = TransferID(UInt64.random(in: 1...60, using: &self.random))
        guard self.stage.machine.state(of: id) != .running else { return }
        switch Int.random(in: 0..<6, using: &self.random) {
        case 0: _ = self.stage.machine.pause(id, now: self.stage.now)
        case 1, 2: _ = self.stage.machine.resume(id)
        case 3: _ = self.stage.machine.cancel(id, keeping: true)
        case 4: self.stage.machine.setPriority(.high, of: id)
        default: self.stage.machine.releaseHolds(of: MachineStage.origin("a"), now: self.stage.now)
        }
    }

    private mutating func answer(_ id: UInt64) {
        guard let origin = self.stage.machine.host(of: TransferID(id)) else { return }
        let reply = self.replies[origin.host] ?? .file
        var tally = EngineMachine.Tally()
        let jitter = Double.random(in: 0...1, using: &self.random)
        let status: Int? =
            switch reply {
            case .file: 200
            case .missing: 404
            case .error: [500, 502].randomElement(using: &self.random)
            case .wait: 429
            case .broken, .refused: nil
            }
        if reply != .refused { self.stage.machine.hostReached(TransferID(id), status: nil, now: self.stage.now) }
        if let status {
            tally.hasResponse = true
            self.stage.machine.hostReached(TransferID(id), status: status, now: self.stage.now)
            if Bool.random(using: &self.random) {
                self.stage.machine.hostResponds(to: TransferID(id), status: status, now: self.stage.now)
            }
        }
        var result = EngineMachine.RunResult.failed
        switch reply {
        case .file: result = .finished(isSkipped: false)
        case .missing: break
        case .broken: result = .retry(EngineMachine.Failure(OutageEvidence(.broken), jitter: jitter))
        case .refused: result = .retry(EngineMachine.Failure(OutageEvidence(.refused), jitter: jitter))
        case .error, .wait:
            var evidence = OutageEvidence(.errors, peer: origin)
            evidence.status = status
            evidence.resource = Int(id)
            let failure = EngineMachine.Failure(
                evidence,
                isThrottled: reply == .wait,
                message: "\(status ?? 0)",
                retryAfter: reply == .wait ? Int64.random(in: 1...20, using: &self.random) : nil,
                jitter: jitter
            )
            if self.isUnrepeatable.contains(id) { tally.report = failure } else { result = .retry(failure) }
        }
        self.stage.release(origin.host, of: id)
        _ = self.stage.machine.runEnded(TransferID(id), result, tally, now: self.stage.now)
    }

    private mutating func verify() {
        let machine = self.stage.machine
        let counts = machine.heldCounts(at: self.stage.now)
        if counts.all > machine.waitingCount + machine.retryingCount || counts.started > counts.all {
            self.complaint = "\(counts) of \(machine.waitingCount) and \(machine.retryingCount)"
        }
        if machine.runCount > 0 { self.complaint = "a run did not end" }
        for hold in machine.holds(at: self.stage.now) {
            guard let next = hold.nextTry, next < self.stage.now, hold.reason != .throttled else { continue }
            let waiting = (1...60).filter { machine.state(of: TransferID($0)) == .waiting }
            let hosts = waiting.filter { !self.neverProbes.contains($0) }.map { machine.host(of: TransferID($0)) }
            if hosts.contains(hold.origin) { self.complaint = "the next attempt at \(hold.place) is overdue" }
        }
    }
}

extension EngineMachine.Hold {
    fileprivate var place: String { self.origin?.host ?? "the network" }
}
