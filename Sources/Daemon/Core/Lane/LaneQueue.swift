internal import Control
internal import QueueStore

/// What one lane has taken out of the store, and what it takes next.
///
/// Pure value: it performs no I/O and reads no clock. The store is the truth about what waits; this holds only what was
/// given to an engine and has not left it, so that no transfer runs twice and each runs in its turn.
///
/// - Invariant: A transfer that has an entry is never given out again.
struct LaneQueue: Sendable {
    /// Where a transfer that was taken stands.
    enum Phase: Sendable, Hashable {
        /// The engine has it and has not begun.
        case staged
        /// It runs, or is between attempts.
        case running
        /// The engine was asked to give it back.
        case stopping
        /// It has ended, and the store does not know yet.
        case ended
    }

    /// One transfer that was taken.
    struct Entry: Sendable {
        /// Tells this staging from earlier ones of the same transfer.
        var run: UInt64
        var phase: Phase
        /// As the store has it.
        var transfer: StoredTransfer
        /// Whether it has begun to run.
        var hasStarted = false
        /// Whether it waits again once the engine has given it back.
        var comesBack = true
    }

    /// A read that is to be made.
    struct Fetch: Sendable, Hashable {
        var limit: Int
        var excluded: Set<GID>
        fileprivate var generation: UInt64
    }

    private(set) var entries: [GID: Entry] = [:]
    /// How many run at once.
    var limit: Int
    /// Why nothing may start.
    private(set) var holds: Set<TransferRecord.WaitReason> = []
    private(set) var stagedCount = 0
    /// Those that have begun and not left.
    private(set) var activeCount = 0
    /// Those that have ended, and the store does not know yet.
    private var endedCount = 0

    private var generation: UInt64 = 0
    private var nextRun: UInt64 = 0
    private var isFetching = false
    /// Whether the store has nothing that is not taken.
    private var isExhausted = false
    /// The greatest priority of what was added since the last read began.
    private var addedPriority: Int?
    /// Those taken back before they ran: the next read must not pass over them.
    private var returning: Set<GID> = []

    init(limit: Int) { self.limit = max(1, limit) }

    /// How many ends may wait for the store before less is taken.
    private static let mostEnded = 4096

    /// How many may be taken beside those that run.
    var lookAhead: Int { min(max(8 * self.limit, 256), 1024) }

    // MARK: Taking

    /// The read that is to be made now, if any; ``fetched(_:_:)`` or ``fetchFailed(_:)`` must follow.
    mutating func nextFetch() -> Fetch? {
        guard self.holds.isEmpty, !self.isFetching, !self.isExhausted, self.returning.isEmpty else { return nil }
        // Those whose end is being stored take nobody's turn, up to a bound.
        let taken = max(self.entries.count - self.endedCount, self.entries.count - Self.mostEnded)
        let room = self.limit + self.lookAhead - taken
        guard room * 2 >= self.lookAhead else { return nil }
        self.isFetching = true
        self.addedPriority = nil
        return Fetch(limit: room, excluded: Set(self.entries.keys), generation: self.generation)
    }

    /// The store's answer.
    ///
    /// - Parameters:
    ///   - fetch: The read.
    ///   - found: What it found in the store's order, the greatest priority first.
    /// - Returns: Those that are to be given to the engine, in their order; none where the answer is out of date, and
    ///   only those that still go first where something of a greater priority was added meanwhile.
    mutating func fetched(_ fetch: Fetch, _ found: [StoredTransfer]) -> [Entry] {
        self.isFetching = false
        guard fetch.generation == self.generation, self.holds.isEmpty else { return [] }
        self.isExhausted = found.count < fetch.limit && self.addedPriority == nil
        let least = self.addedPriority ?? .min
        var taken: [Entry] = []
        taken.reserveCapacity(found.count)
        for transfer in found.prefix(while: { $0.priority >= least })
        where self.entries[transfer.id] == nil && !fetch.excluded.contains(transfer.id) {
            self.nextRun += 1
            let entry = Entry(run: self.nextRun, phase: .staged, transfer: transfer)
            self.entries[transfer.id] = entry
            self.stagedCount += 1
            taken.append(entry)
        }
        return taken
    }

    /// The store could not answer.
    mutating func fetchFailed(_ fetch: Fetch) { self.isFetching = false }

    /// Something waits that did not; it does not go before those that were taken.
    ///
    /// - Parameter priority: The greatest priority among what was added, at the end of its line.
    mutating func added(priority: Int) {
        self.isExhausted = false
        // A read under way may have passed its place.
        self.addedPriority = max(self.addedPriority ?? priority, priority)
    }

    /// The store's answer to the next read may differ from one under way.
    mutating func changed() {
        self.isExhausted = false
        self.generation += 1
    }

    /// Whether one of this priority, at the end of the line, would go before some that were taken.
    func precedes(priority: Int) -> Bool {
        self.entries.values.contains { $0.phase == .staged && $0.transfer.priority < priority }
    }

    // MARK: What the engine tells

    /// It runs.
    ///
    /// - Returns: Whether that is new.
    mutating func started(_ id: GID, run: UInt64) -> Bool {
        guard let entry = self.entries[id], entry.run == run, !entry.hasStarted else { return false }
        self.entries[id]?.hasStarted = true
        self.activeCount += 1
        if entry.phase == .staged {
            self.entries[id]?.phase = .running
            self.stagedCount -= 1
        }
        return true
    }

    /// It has ended by itself; ``committed(_:run:)`` follows once the store knows.
    ///
    /// - Returns: It as it was, or `nil` where this staging is over.
    mutating func ended(_ id: GID, run: UInt64) -> Entry? {
        guard let entry = self.entries[id], entry.run == run, entry.phase != .ended else { return nil }
        self.leave(entry, .ended)
        self.endedCount += 1
        self.returning.remove(id)
        return entry
    }

    /// The store knows of its end.
    mutating func committed(_ id: GID, run: UInt64) {
        guard let entry = self.entries[id], entry.run == run else { return }
        if entry.hasStarted { self.activeCount -= 1 }
        if entry.phase == .staged { self.stagedCount -= 1 }
        if entry.phase == .ended { self.endedCount -= 1 }
        self.returning.remove(id)
        self.entries[id] = nil
    }

    /// The engine has given it back.
    ///
    /// - Returns: It as it was, or `nil` where this staging is over.
    mutating func cancelled(_ id: GID, run: UInt64) -> Entry? {
        guard let entry = self.entries[id], entry.run == run, entry.phase != .ended else { return nil }
        self.committed(id, run: run)
        self.changed()
        return entry
    }

    // MARK: Taking back

    /// Takes one out of the engine again.
    ///
    /// - Parameters:
    ///   - id: The transfer.
    ///   - comesBack: Whether it waits afterwards.
    /// - Returns: What the engine is to be asked for, or `nil` where it has nothing to give back.
    mutating func takeBack(_ id: GID, comesBack: Bool) -> Entry? {
        guard let entry = self.entries[id] else { return nil }
        self.entries[id]?.comesBack = comesBack
        guard entry.phase != .ended else { return nil }
        if comesBack { self.returning.insert(id) } else { self.returning.remove(id) }
        guard entry.phase != .stopping else { return nil }
        self.leave(entry, .stopping)
        return entry
    }

    /// One that the engine is giving back waits afterwards, though it was not to.
    mutating func comesBackAfterAll(_ id: GID) {
        guard let entry = self.entries[id], entry.phase == .stopping else { return }
        self.entries[id]?.comesBack = true
        self.returning.insert(id)
    }

    /// Takes back all that have not begun, for the order has changed.
    mutating func takeBackStaged() -> [Entry] {
        self.changed()
        return self.entries.values.filter { $0.phase == .staged }
            .compactMap { self.takeBack($0.transfer.id, comesBack: true) }
    }

    /// Lets nothing start for a reason more.
    ///
    /// - Parameters:
    ///   - reason: The reason.
    ///   - cutsRunning: Whether what runs is taken back as well; an upload whose request must not be made twice is not.
    /// - Returns: What the engine is to be asked for.
    mutating func hold(_ reason: TransferRecord.WaitReason, cutsRunning: Bool) -> [Entry] {
        self.holds.insert(reason)
        self.changed()
        return self.entries.values
            .filter { $0.phase == .staged || (cutsRunning && $0.phase == .running && $0.transfer.mayBeCut) }
            .compactMap { self.takeBack($0.transfer.id, comesBack: true) }
    }

    /// A reason is gone.
    mutating func release(_ reason: TransferRecord.WaitReason) {
        if self.holds.remove(reason) != nil { self.changed() }
    }

    /// The store has something else about it now.
    mutating func update(_ id: GID, _ change: (inout StoredTransfer) -> Void) {
        guard var entry = self.entries[id] else { return }
        change(&entry.transfer)
        self.entries[id] = entry
    }

    private mutating func leave(_ entry: Entry, _ phase: Phase) {
        if entry.phase == .staged { self.stagedCount -= 1 }
        self.entries[entry.transfer.id]?.phase = phase
    }
}
