// SPDX-License-Identifier: Apache-2.0
import FileStorage
import TransferCore
import TransferEngine

/// A process that downloads: an engine with its transport, its disk store and its threads.
///
/// `@unchecked Sendable`: a world runs on one thread.
final class Command: @unchecked Sendable {
    /// How one transfer ended.
    struct Ending {
        enum Kind {
            case finished(TransferCompletion)
            case failed(TransferFailure)
            case cancelled
        }

        var job: Int
        var process: Int
        var kind: Kind

        /// Whether the user is satisfied.
        var isDone: Bool { if case .finished = self.kind { true } else { false } }
        /// Whether the file that exists is not the beginning of the server's.
        var isRefusedResumption: Bool {
            if case .failed(let failure) = self.kind { failure.code == .cannotResume } else { false }
        }
    }

    let process: SimulatedProcess
    /// Whether it ended without a kill.
    private(set) var hasExited = false
    /// The number of bytes received in this process, of all jobs.
    private(set) var received: Int64 = 0

    private unowned let life: DownloadLife
    private let engine: TransferEngine
    private let transport: SimulatedTransport
    private var jobs: [TransferID: Int] = [:]
    private var ids: [Int: TransferID] = [:]
    private var ended: [TransferID: Int] = [:]
    private var paused: Set<TransferID> = []
    private var additions: [Int: Int] = [:]
    private var retriers: [Int: SiteRetrier] = [:]
    private var pendingAdditions = 0
    /// Whether an outage was reported.
    private var wasHeld = false
    /// The bytes that had arrived at the last retry of a transfer, and the retries since the last byte.
    private var retries: [TransferID: (arrived: Int64, count: Int)] = [:]
    /// The most bytes from which a response of a transfer continued.
    private var continued: [TransferID: Int64] = [:]

    init(_ life: DownloadLife, _ process: SimulatedProcess) {
        self.life = life
        self.process = process
        self.transport = SimulatedTransport(life.network, process, lanes: life.wishes.lanes)
        let transport = self.transport
        self.engine = life.scheduler.perform(as: process) {
            TransferEngine(
                configuration: life.wishes.configuration,
                transport: transport,
                store: DiskStore(),
                time: SimulatedTime(life.scheduler, process),
                pool: SimulatedPool(life.scheduler, process)
            )
        }
        self.engine.observe { [unowned self] in self.heard($0) }
    }

    /// Adds jobs, and starts.
    func add(_ jobs: [Int]) {
        self.life.scheduler.perform(as: self.process) {
            self.engine.start()
            for job in jobs { self.add(job) }
            self.noteEarly()
            if self.life.wishes.additions == 0 { self.engine.close() }
        }
    }

    private func add(_ job: Int) {
        do {
            let request = try self.life.wishes.request(self.life.wishes.jobs[job], in: DownloadLife.directory)
            self.observe(request.policy as? SiteRetrier, of: job)
            // Events may come before the id is known.
            let id = try self.engine.add(request)
            self.jobs[id] = job
            self.ids[job] = id
        } catch let error as EngineError where error.code == .nameTaken && self.additions[job, default: 0] > 0 {
            // Another job has taken the name while this one had failed.
            self.life.result.count("names taken")
        } catch {
            self.life.result.fail("job \(job) cannot be added: \(error)")
        }
    }

    /// After a program's decision its delay counts, whatever the server has asked for.
    private func observe(_ retrier: SiteRetrier?, of job: Int) {
        self.retriers[job] = retrier
        retrier?.onDecision = { [unowned self] delay in
            self.life.result.count(delay == nil ? "retries refused by a program" : "retries chosen by a program")
            self.life.decided(self.process.number, delay)
        }
    }

    private func noteEarly() {
        for (id, kind) in self.early { self.note(id, kind) }
        self.early = []
    }

    /// Adds a transfer that has failed again, unless it was added often enough.
    private func addAgain(_ job: Int) {
        guard self.additions[job, default: 0] < self.life.wishes.additions else { return }
        self.additions[job, default: 0] += 1
        self.pendingAdditions += 1
        let delay = Int64.random(in: 0...2_000_000_000, using: &self.life.scheduler.random)
        self.life.scheduler.schedule(after: delay, in: self.process) {
            self.pendingAdditions -= 1
            self.life.trace.add("user", "adds job \(job) again")
            self.life.notBefore = nil
            self.add(job)
            self.noteEarly()
        }
    }

    private var early: [(TransferID, Ending.Kind)] = []
    private var isCancelled: Set<Int> = []
    private var isPausedAsWhole = false
    private var hasStarted: Set<Int> = []

    private func heard(_ event: TransferEvent) {
        guard self.process.isAlive else { return }
        self.trace(event)
        if case .response(let response) = event.kind,
            response.resumedFrom == 0 || self.life.wishes.options.ifExists == .resume
        {
            self.life.hands.responded()
        }
        switch event.kind {
        case .finished(let completion): self.note(event.id, .finished(completion))
        case .failed(let failure): self.note(event.id, .failed(failure))
        case .cancelled: self.note(event.id, .cancelled)
        case .drained: if self.pendingAdditions == 0 { self.exit() }
        case .paused: if let id = event.id { self.paused.insert(id) }
        case .started:
            self.life.starts += 1
            if let job = event.id.flatMap({ self.jobs[$0] }) { self.hasStarted.insert(job) }
        // An outage of a host uses up no retries, also if the host only breaks connections.
        case .held: self.wasHeld = true
        case .retrying:
            if let id = event.id, let job = self.jobs[id] { self.judgeRetry(id, of: job) }
        case .response(let response) where response.resumedFrom > 0:
            // The first response that continues the bytes of an earlier process restores the retries.
            guard let id = event.id, response.resumedFrom > self.continued[id] ?? 0 else { return }
            self.continued[id] = response.resumedFrom
            self.retries[id]?.count = 0
        case .response:
            // Other bytes are held from now on.
            if let job = event.id.flatMap({ self.jobs[$0] }) {
                self.life.wishes.jobs[job].site.isDifferenceKnown = false
            }
        case .note(let text) where text.contains("differ from the server's"):
            if let job = event.id.flatMap({ self.jobs[$0] }) {
                self.life.foundDifference(self, self.life.wishes.jobs[job].site)
            }
        case .note(let text) where text.contains(": restarting"):
            if let job = event.id.flatMap({ self.jobs[$0] }) {
                self.life.restarts(self.life.wishes.jobs[job].site, text)
            }
        default: break
        }
    }

    private func trace(_ event: TransferEvent) {
        self.life.trace.add("process \(self.process.number)", Self.text(event.kind))
    }

    private func note(_ id: TransferID?, _ kind: Ending.Kind) {
        guard let id else { return }
        guard let job = self.jobs[id] else { return self.early.append((id, kind)) }
        self.ended[id, default: 0] += 1
        if self.ended[id] != 1 { self.life.result.fail("job \(job) ended \(self.ended[id] ?? 0) times in one process") }
        let ending = Ending(job: job, process: self.process.number, kind: kind)
        self.life.endings.append(ending)
        self.life.judge(ending, isTwin: self.life.command !== self)
        if self.life.command === self {
            self.life.finished(ending, of: self)
            self.life.last[job] = ending
            if case .cancelled = kind { self.life.wasCancelled.insert(job) }
            if case .failed = kind { self.addAgain(job) }
        }
    }

    /// Exits when what the engine has left for its threads is done.
    private func exit() {
        guard
            self.engine.counts.waiting + self.engine.counts.running + self.engine.counts.paused
                + self.engine.counts.retrying == 0
        else { return self.life.result.fail("the queue is said to be empty, but is not: \(self.engine.counts)") }
        // A busy thread closes its last file a moment later.
        let isBusy = !self.life.disk.openFiles(of: self.process.number).isEmpty
        self.life.scheduler.schedule(after: isBusy ? 2_000_000_000 : 20_000_000, in: self.process) {
            self.judgeDescriptors()
            self.hasExited = true
            self.process.kill()
        }
    }

    /// Releases the engine after the end of the process.
    func dispose() { self.process.dispose(self.life.scheduler) { self.engine.cancelAll() } }

    /// Bytes arrived at this process.
    func arrived(_ count: Int) {
        self.received += Int64(count)
        self.life.received(self)
    }

    // MARK: The user

    func perform(_ action: UserAction) {
        switch action {
        case .pause(let job, let length):
            guard let id = self.ids[job] else { return }
            self.engine.pause(id)
            self.later(length) { self.engine.resume(id) }
        case .pauseAll(let length):
            self.engine.pauseAll()
            self.isPausedAsWhole = true
            self.later(length) {
                self.engine.resumeAll()
                self.isPausedAsWhole = false
            }
        case .cancel(let job, let keeping):
            guard let id = self.ids[job], self.ended[id] == nil else { return }
            // The first of two cancellations counts; a transfer that has not started knows no partial file.
            let isFirst = self.isCancelled.insert(job).inserted
            if isFirst, !keeping, self.hasStarted.contains(job) { self.life.deletable.insert(job) }
            self.engine.cancel(id, keeping: keeping)
        case .limit(let count): self.engine.setConcurrentTransfers(count)
        case .rate(let rate): self.engine.setRateLimit(rate)
        case .priority(let job, let priority):
            if let id = self.ids[job] { self.engine.setPriority(priority, of: id) }
        case .connections(let count): self.engine.setConnectionsPerHost(count)
        }
    }

    private func later(_ delay: Int64, _ work: @escaping () -> Void) {
        self.life.scheduler.schedule(after: delay, in: self.process) {
            self.life.trace.add("user", "resumes")
            // The user does not wait as long as the site asked for.
            self.life.notBefore = nil
            work()
        }
    }

    // MARK: Judging

    /// After the ends of all transfers no file of theirs is open or locked.
    private func judgeDescriptors() {
        let (disk, number) = (self.life.disk, self.process.number)
        let (open, locks) = (disk.openFiles(of: number), disk.locks(of: number))
        if locks > 0 { self.life.result.fail("\(locks) locks are held after the ends of all transfers") }
        if let path = open.first { self.life.result.fail("\(path) is open after the ends of all transfers") }
    }

    /// Judges a retry: without a new byte there are only as many as the user permits.
    ///
    /// One more is not judged: bytes may have arrived between the failure and its report.
    private func judgeRetry(_ id: TransferID, of job: Int) {
        let life = self.life
        let site = life.wishes.jobs[job].site
        if self.retriers[job]?.hasGivenUp == true { life.result.fail("a retry follows, which the program has refused") }
        let arrived = site.bytesSent
        let isSame = self.retries[id]?.arrived == arrived
        let count = isSame ? (self.retries[id]?.count ?? 0) + 1 : 0
        self.retries[id] = (arrived, count)
        let permitted = life.wishes.retrier?.most ?? life.wishes.options.retries
        guard count > permitted + 1, !self.wasHeld, !site.didAskForDelay, life.hasOnlyCountedRetries else { return }
        life.result.fail("\(count) retries without a byte, and \(permitted) are permitted")
    }

    /// Judges the waits of transfers while nothing happens for a while: each has a cause.
    ///
    /// Not judged are those for another process, for a disk that fails, and for descriptors.
    func judgeWaits() {
        let life = self.life
        guard self.process.isAlive, !self.hasExited, life.twinDelay == nil, !life.faults.hasFaults,
            life.network.shortageOneIn == 0, life.network.shortage.isEmpty
        else { return }
        let (counts, holds) = (self.engine.counts, self.engine.holds)
        life.result.count("idle moments")
        for (id, job) in self.jobs where self.ended[id] == nil {
            switch self.engine.state(of: id) {
            case .waiting:
                // Those of its host may have its connections, or the host's interval has not passed.
                guard holds.isEmpty, counts.running == 0, !self.isPausedAsWhole,
                    life.wishes.configuration.politeness.hostInterval == 0
                else { continue }
                life.result.fail("job \(job) waits, and nothing runs")
            case .running:
                guard holds.isEmpty, counts.running == 1, self.transport.openExchanges == 0,
                    life.wishes.configuration.politeness.hostInterval == 0
                else { continue }
                life.trace.add("judge", "job \(job) runs without a request until \(life.scheduler.idleTime)")
                life.result.fail("job \(job) runs without a request, and nothing else does")
            default: break
            }
        }
    }

    /// The transfers that have not ended, for a world that does not end.
    var unfinished: String {
        let ids = self.jobs.keys.sorted().filter { self.ended[$0] == nil }
        let states = ids.map { "job \(self.jobs[$0] ?? -1) \(self.engine.state(of: $0).map { "\($0)" } ?? "unknown")" }
        return states.joined(separator: ", ")
    }

    static func text(_ kind: TransferEvent.Kind) -> String {
        switch kind {
        case .started(let path): "starts \(path)"
        case .response(let response): "response \(response.status), \(response.resumedFrom) bytes are here"
        case .progress(let progress): "progress \(progress.bytes) of \(progress.total.map { "\($0)" } ?? "unknown")"
        case .retrying(let failure, let attempt, let delay): "retry \(attempt) after \(delay): \(failure.message)"
        case .paused: "paused"
        case .finished(let completion):
            "finished \(completion.path), \(completion.bytes) bytes\(completion.skipped ? ", skipped" : "")"
                + (completion.consistency.map { ", consistency \($0.rawValue)" } ?? "")
                + (completion.verified ? ", verified" : "")
        case .failed(let failure): "failed: \(failure.code.rawValue), \(failure.message)"
        case .cancelled: "cancelled"
        case .note(let text): "note: \(text)"
        case .warning(let text): "warning: \(text)"
        case .held(let hold): "held: \(hold)"
        case .released: "released"
        case .drained: "drained"
        case .missed(let count): "missed \(count) events"
        }
    }
}
