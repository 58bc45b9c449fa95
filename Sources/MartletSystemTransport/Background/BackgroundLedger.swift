// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Decides which task of a background session, or which response that has already arrived, belongs to which exchange.
///
/// Pure value. A task may be older than the program that runs now: its exchange is then gone, and the one that requests
/// the same takes its place. Nothing is requested before the system has listed its tasks.
///
/// - Invariant: At most one exchange has a task or a response, and an exchange has at most one.
/// - Invariant: A success is discarded only after its exchange has received all of it or has refused it, or if nothing
///   requests it: beyond the limit, or after some days. Other responses are never kept for a later request.
struct BackgroundLedger: Sendable {
    /// An exchange of this run of the program.
    typealias ExchangeID = Int
    /// A task of the session, by the system's number.
    typealias TaskID = Int
    /// A file of the shelf.
    typealias FileID = Int

    enum Action: Sendable, Equatable {
        /// Make a task, and report it by ``BackgroundLedger/began(_:_:)``.
        case begin(ExchangeID, BackgroundKey, resuming: FileID?)
        /// Cancel a task, and report the data with which it can be resumed by
        /// ``BackgroundLedger/wasCancelled(_:resume:)``.
        case cancel(TaskID)
        case deliver(FileID, to: ExchangeID)
        case fail(ExchangeID, BackgroundFailure)
        case discard(FileID)
        case callWakeHandlers
    }

    private struct Run: Sendable {
        var key: BackgroundKey
        var exchange: ExchangeID?
        /// Whether it is being cancelled; its exchange, if it has one, waits for that.
        var isEnding = false
    }

    private struct Kept: Sendable {
        var key: BackgroundKey
        var facts: ShelvedFacts
        var exchange: ExchangeID?
    }

    private let unclaimedLimit: Int
    private var isRestored = false
    private var waiting: [(exchange: ExchangeID, key: BackgroundKey)] = []
    private var runs: [TaskID: Run] = [:]
    /// The tasks that ended before the system listed its tasks.
    private var endedEarly: Set<TaskID> = []
    private var kept: [FileID: Kept] = [:]
    private var resumable: [FileID: BackgroundKey] = [:]
    private var wakesWhenDelivered = false

    /// Creates the ledger of a session that was just opened.
    ///
    /// - Parameters:
    ///   - stored: The responses that an earlier run of the program has received and not delivered.
    ///   - resumable: The files with which tasks can be resumed.
    ///   - unclaimedLimit: The number of responses that are kept although nothing requests them; the oldest go first.
    init(
        stored: [FileID: (key: BackgroundKey, facts: ShelvedFacts)] = [:],
        resumable: [FileID: BackgroundKey] = [:],
        unclaimedLimit: Int
    ) {
        self.unclaimedLimit = max(0, unclaimedLimit)
        self.kept = stored.mapValues { Kept(key: $0.key, facts: $0.facts) }
        self.resumable = resumable
    }

    // MARK: Exchanges

    /// An exchange wants a response.
    mutating func requested(_ exchange: ExchangeID, _ key: BackgroundKey) -> [Action] {
        guard self.isRestored else {
            self.waiting.append((exchange, key))
            return []
        }
        return self.serve(exchange, key)
    }

    /// A task was made for an exchange.
    mutating func began(_ exchange: ExchangeID, _ key: BackgroundKey, _ task: TaskID) {
        self.runs[task] = Run(key: key, exchange: exchange)
    }

    /// The program cancels an exchange, whose task then ends.
    ///
    /// The received bytes can be resumed, and a response stays on the shelf.
    mutating func cancelled(_ exchange: ExchangeID) -> [Action] {
        self.waiting.removeAll { $0.exchange == exchange }
        if let task = self.detach(exchange), let run = self.runs[task], !run.isEnding {
            self.runs[task]?.isEnding = true
            return [.cancel(task)]
        }
        return self.wakeIfDelivered()
    }

    /// An exchange ends with its transport: its task continues.
    mutating func abandoned(_ exchange: ExchangeID) -> [Action] {
        self.waiting.removeAll { $0.exchange == exchange }
        _ = self.detach(exchange)
        return self.wakeIfDelivered()
    }

    /// An exchange has received its response completely, has refused it, or could not read it.
    mutating func consumed(_ exchange: ExchangeID) -> [Action] {
        guard let file = self.kept.first(where: { $0.value.exchange == exchange })?.key else { return [] }
        self.kept[file] = nil
        return [.discard(file)] + self.wakeIfDelivered()
    }

    /// Discards what arrived before a time and is not requested.
    mutating func expired(before time: Int64) -> [Action] {
        let old = self.kept.filter { $0.value.exchange == nil && $0.value.facts.time < time }.keys.sorted()
        for file in old { self.kept[file] = nil }
        return old.map { .discard($0) }
    }

    // MARK: Tasks

    /// The key of a task, or `nil` if it is not known.
    func key(of task: TaskID) -> BackgroundKey? { self.runs[task]?.key }

    /// The system has listed its tasks.
    mutating func restored(_ tasks: [(task: TaskID, key: BackgroundKey)]) -> [Action] {
        guard !self.isRestored else { return [] }
        self.isRestored = true
        for (task, key) in tasks where self.runs[task] == nil && !self.endedEarly.contains(task) {
            self.runs[task] = Run(key: key)
        }
        self.endedEarly = []
        let waiting = self.waiting
        self.waiting = []
        return waiting.flatMap { self.serve($0.exchange, $0.key) } + self.trim()
    }

    /// A task has ended with a response, which is on the shelf.
    mutating func finished(_ task: TaskID, _ key: BackgroundKey, _ file: FileID, _ facts: ShelvedFacts) -> [Action] {
        let exchange = self.ended(task)
        self.kept[file] = Kept(key: key, facts: facts, exchange: exchange)
        if let exchange { return [.deliver(file, to: exchange)] }
        guard (200...299).contains(facts.status), let (other, rival) = self.rival(key) else { return self.trim() }
        self.kept[file]?.exchange = other
        self.runs[rival]?.exchange = nil
        self.runs[rival]?.isEnding = true
        return [.deliver(file, to: other), .cancel(rival)]
    }

    /// An exchange whose task was made because the system had not listed the one that has just ended.
    private func rival(_ key: BackgroundKey) -> (ExchangeID, TaskID)? {
        let runs = self.runs.filter { $0.value.key == key && !$0.value.isEnding && $0.value.exchange != nil }
        return runs.min { $0.key < $1.key }.flatMap { run in run.value.exchange.map { ($0, run.key) } }
    }

    /// A task has ended without a response that can be delivered.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - key: What it was to fetch.
    ///   - failure: The reason.
    ///   - resume: The file with which it can be resumed, or `nil`.
    /// - Returns: The actions.
    mutating func failed(
        _ task: TaskID,
        _ key: BackgroundKey,
        _ failure: BackgroundFailure,
        resume: FileID?
    ) -> [Action] {
        // The end of a task that was cancelled is reported by `wasCancelled(_:resume:)`.
        if self.runs[task]?.isEnding == true { return resume.map { [.discard($0)] } ?? [] }
        let exchange = self.ended(task)
        let actions = self.keep(resume, key)
        return actions + (exchange.map { [.fail($0, failure)] } ?? [])
    }

    /// A task that had to be cancelled has ended.
    mutating func wasCancelled(_ task: TaskID, resume: FileID?) -> [Action] {
        // It may have ended before the cancellation.
        guard let run = self.runs[task], run.isEnding else { return resume.map { [.discard($0)] } ?? [] }
        self.runs[task] = nil
        let actions = self.keep(resume, run.key)
        return actions + (run.exchange.map { self.serve($0, run.key) } ?? [])
    }

    /// The system has reported all events of the tasks that ended while the program was not running.
    ///
    /// - Parameter hasHandlers: Whether the system waits until they were handled.
    /// - Returns: The actions.
    mutating func eventsReported(hasHandlers: Bool) -> [Action] {
        guard hasHandlers else { return [] }
        self.wakesWhenDelivered = true
        return self.wakeIfDelivered()
    }

    // MARK: Parts

    private mutating func serve(_ exchange: ExchangeID, _ key: BackgroundKey) -> [Action] {
        if let file = self.response(to: key) {
            self.kept[file]?.exchange = exchange
            return [.deliver(file, to: exchange)]
        }
        let free = self.runs.filter { $0.value.exchange == nil && $0.value.key == key }
        // The oldest has received most. One that ends is resumed with what it has.
        if let task = free.min(by: { ($0.value.isEnding ? 1 : 0, $0.key) < ($1.value.isEnding ? 1 : 0, $1.key) })?.key {
            self.runs[task]?.exchange = exchange
            return []
        }
        let resume = self.resumable.filter { $0.value == key }.keys.max()
        if let resume { self.resumable[resume] = nil }
        return [.begin(exchange, key, resuming: resume)]
    }

    /// The newest response that answers a request and that no exchange has.
    private func response(to key: BackgroundKey) -> FileID? {
        let free = self.kept.filter { $0.value.exchange == nil && (200...299).contains($0.value.facts.status) }
        return free.filter { $0.value.key == key }.keys.max()
            ?? free.filter { key.isPart(of: $0.value.key, $0.value.facts) }.keys.max()
    }

    /// Takes an exchange from its task or its response.
    ///
    /// - Returns: The task.
    private mutating func detach(_ exchange: ExchangeID) -> TaskID? {
        for (file, _) in self.kept.filter({ $0.value.exchange == exchange }) { self.kept[file]?.exchange = nil }
        guard let task = self.runs.first(where: { $0.value.exchange == exchange })?.key else { return nil }
        self.runs[task]?.exchange = nil
        return task
    }

    private mutating func ended(_ task: TaskID) -> ExchangeID? {
        if !self.isRestored { self.endedEarly.insert(task) }
        return self.runs.removeValue(forKey: task)?.exchange
    }

    /// Keeps what a task can be resumed with, instead of what was kept for the same key.
    private mutating func keep(_ resume: FileID?, _ key: BackgroundKey) -> [Action] {
        guard let resume else { return [] }
        let older = self.resumable.filter { $0.value == key }.keys.sorted()
        for file in older { self.resumable[file] = nil }
        self.resumable[resume] = key
        return older.map { .discard($0) } + self.trim()
    }

    /// Discards unclaimed files: responses of failures, and the oldest beyond the limit.
    private mutating func trim() -> [Action] {
        guard self.isRestored else { return [] }
        let unclaimed = self.kept.filter { $0.value.exchange == nil }
        let successes = unclaimed.filter { (200...299).contains($0.value.facts.status) }.keys.sorted()
        let files = unclaimed.keys.filter { !successes.suffix(self.unclaimedLimit).contains($0) }.sorted()
        for file in files { self.kept[file] = nil }
        let resumes = Array(self.resumable.keys.sorted().dropLast(self.unclaimedLimit))
        for file in resumes { self.resumable[file] = nil }
        return (files + resumes).map { .discard($0) }
    }

    private mutating func wakeIfDelivered() -> [Action] {
        guard self.wakesWhenDelivered, !self.kept.values.contains(where: { $0.exchange != nil }) else { return [] }
        self.wakesWhenDelivered = false
        return [.callWakeHandlers]
    }
}

/// Why a task of a background session ended without a response.
struct BackgroundFailure: Sendable, Equatable {
    var code: TransportError.Code
    var message: String
    var remedy = ""

    init(_ error: TransportError) { (self.code, self.message, self.remedy) = (error.code, error.message, error.remedy) }

    var error: TransportError { TransportError(self.code, self.message, remedy: self.remedy) }
}
