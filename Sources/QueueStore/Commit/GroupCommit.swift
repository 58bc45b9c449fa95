internal import GRDB
internal import Synchronization

/// Puts writes that come at once into one transaction, each in its savepoint, so that all of them cost one sync.
///
/// Runs on the queue of GRDB's writing connection, which has one job for as long as there is work.
final class GroupCommit: Sendable {
    private struct State {
        var works: [Work] = []
        var isRunning = false
        var isClosed = false
    }

    private let pool: DatabasePool
    private let log: WriteAheadLog
    /// A group ends after so much time, so that those who came first do not wait for all who came later.
    private let longest: Duration
    private let state = Mutex(State())

    init(pool: DatabasePool, log: WriteAheadLog, longest: Duration) {
        self.pool = pool
        self.log = log
        self.longest = longest
    }

    /// Takes a write; refuses it after ``close()``.
    func add(_ work: Work) {
        enum Step {
            case nothing, start, refuse
        }
        let step: Step = self.state.withLock { state in
            guard !state.isClosed else { return .refuse }
            state.works.append(work)
            guard !state.isRunning else { return .nothing }
            state.isRunning = true
            return .start
        }
        switch step {
        case .nothing: break
        case .start: self.pool.asyncWriteWithoutTransaction { self.run($0) }
        case .refuse: work.refuse(QueueStoreError(.closed, "the database '\(self.pool.path)' is closed"))
        }
    }

    /// Takes no more writes.
    func close() { self.state.withLock { $0.isClosed = true } }

    /// Does everything that was taken; on the writing connection's queue.
    func run(_ database: Database) {
        while true {
            let works = self.state.withLock { state in
                let works = state.works
                state.works = []
                if works.isEmpty { state.isRunning = false }
                return works
            }
            guard !works.isEmpty else { return }
            var left = works[...]
            while !left.isEmpty { left = left.dropFirst(self.commit(left, database)) }
        }
    }

    /// Does the first of `works`, as many as one transaction is to hold; gives how many.
    private func commit(_ works: ArraySlice<Work>, _ database: Database) -> Int {
        let connection = Connection(database: database, path: self.pool.path, fault: nil)
        var group = Transaction(connection: connection, isSingle: works.count == 1)
        guard group.begin() else {
            for work in works { group.refuse(work) }
            return works.count
        }
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: self.longest)
        var count = 0
        for work in works {
            group.perform(work)
            count += 1
            if clock.now >= end { break }
        }
        group.commit()
        self.log.limit(database)
        return count
    }
}
