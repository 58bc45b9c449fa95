internal import Control
internal import QueueStore

/// How many transfers the store has, by session and state.
///
/// What was written is heard of in another order than it was written in: a sum may be below 0 for a moment, which nobody is
/// shown.
struct CountBook: Sendable {
    private var bySession: [CountKey: Int] = [:]
    private var totals: [TransferRecord.State: Int] = [:]
    private(set) var endedInAll = 0

    init(_ counts: [CountKey: Int] = [:]) {
        for (key, count) in counts where count != 0 {
            self.bySession[key] = count
            self.totals[key.state, default: 0] += count
        }
    }

    subscript(session: String?, state: TransferRecord.State) -> Int {
        max(0, self.bySession[CountKey(session: session, state: state)] ?? 0)
    }

    subscript(state: TransferRecord.State) -> Int { max(0, self.totals[state] ?? 0) }

    /// Those of a session that have not ended.
    func unfinished(_ session: String?) -> Int { self[session, .waiting] + self[session, .paused] }

    mutating func add(_ count: Int, _ session: String?, _ state: TransferRecord.State) {
        let key = CountKey(session: session, state: state)
        let sum = (self.bySession[key] ?? 0) + count
        self.bySession[key] = sum == 0 ? nil : sum
        self.totals[state, default: 0] += count
    }

    /// Takes off those that were forgotten; gives how many.
    mutating func forget(_ counts: [TransferRecord.State: Int], _ session: String?) -> Int {
        for (state, count) in counts { self.add(-count, session, state) }
        return counts.values.reduce(0, +)
    }

    mutating func move(
        _ count: Int,
        _ session: String?,
        from old: TransferRecord.State,
        to new: TransferRecord.State
    ) {
        self.add(-count, session, old)
        self.add(count, session, new)
        if new.isEnd { self.endedInAll += count }
    }
}
