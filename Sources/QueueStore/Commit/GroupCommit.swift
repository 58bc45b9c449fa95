internal import GRDB
internal import Synchronization

/// Puts writes that come at once into one transaction, each in its savepoint, so that all of them cost one sync.
///
/// Runs on the queue of GRDB's writing connection, which has one job for as long as there is work. What is done in the
/// background, see ``Chores``, is done between groups in short transactions.
final class GroupCommit: Sendable {
    private struct State {
        var works: [Work] = []
        var isRunning = false
        var isClosed = false
        /// Whether there may be something to do in the background.
        var hasChores = true
        var handler: RemovalHandler?
    }

    private let pool: DatabasePool
    private let log: WriteAheadLog
    private let health: WriteHealth
    private let marker: StateMarker
    /// A group ends after so much time, so that those who came first do not wait for all who came later.
    private let longest: Duration
    private let state = Mutex(State())

    /// The least time between two steps in the background while others write.
    private static let pause = Duration.milliseconds(50)

    init(pool: DatabasePool, log: WriteAheadLog, longest: Duration, health: WriteHealth, marker: StateMarker) {
        self.pool = pool
        self.log = log
        self.longest = longest
        self.health = health
        self.marker = marker
    }

    /// Takes a write; refuses it after ``close()``.
    func add(_ work: Work) {
        let isTaken = self.state.withLock { state in
            guard !state.isClosed else { return false }
            state.works.append(work)
            return true
        }
        guard isTaken else {
            return work.refuse(QueueStoreError(.closed, "the database '\(self.pool.path)' is closed"))
        }
        self.start()
    }

    /// Sees to what is to be done, in the background too.
    func start() {
        let isNeeded = self.state.withLock { state in
            guard !state.isRunning, !state.isClosed else { return false }
            state.isRunning = true
            return true
        }
        if isNeeded { self.pool.asyncWriteWithoutTransaction { self.run($0) } }
    }

    /// Takes the handler of removed transfers, without which they stay.
    func observe(_ handler: @escaping RemovalHandler) {
        self.state.withLock { ($0.handler, $0.hasChores) = (handler, true) }
        self.start()
    }

    /// Takes no more writes.
    func close() { self.state.withLock { $0.isClosed = true } }

    /// Does everything that was taken; on the writing connection's queue.
    func run(_ database: Database) {
        let connection = Connection(database: database, path: self.pool.path, fault: nil)
        let clock = ContinuousClock()
        var chores = Chores(connection)
        var last = clock.now
        while true {
            enum Step {
                case works([Work], hasChores: Bool)
                case chore, end
            }
            let step: Step = self.state.withLock { state in
                if !state.works.isEmpty {
                    defer { state.works = [] }
                    return .works(state.works, hasChores: state.hasChores && !state.isClosed)
                }
                if state.hasChores, !state.isClosed { return .chore }
                state.isRunning = false
                return .end
            }
            switch step {
            case .works(let works, let hasChores):
                var left = works[...]
                while !left.isEmpty { left = left.dropFirst(self.commit(left, database)) }
                if !hasChores { self.setChores(chores.isNeeded(withHandler: self.handler != nil)) }
                // Others come first, but not for ever.
                guard hasChores, clock.now - last >= Self.pause else { continue }
                self.step(&chores)
                last = clock.now
            case .chore:
                self.step(&chores)
                last = clock.now
            case .end: return
            }
        }
    }

    /// Does everything that is to be done in the background; on the writing connection's queue.
    func finishChores(_ database: Database) {
        var chores = Chores(Connection(database: database, path: self.pool.path, fault: nil))
        repeat { self.step(&chores) } while self.state.withLock { $0.hasChores }
    }

    private var handler: RemovalHandler? { self.state.withLock { $0.handler } }

    private func setChores(_ hasChores: Bool) { self.state.withLock { $0.hasChores = hasChores } }

    private func step(_ chores: inout Chores) {
        do throws(QueueStoreError) {
            self.setChores(try chores.step(self.handler))
            self.limit(chores.connection, after: WriteAheadLog.fewPages)
        } catch {
            // Tried again after the next write that succeeds.
            self.setChores(false)
            self.health.committed(error.isOfTheDisk ? error : nil)
        }
    }

    /// Does the first of `works`, as many as one transaction is to hold; gives how many.
    private func commit(_ works: ArraySlice<Work>, _ database: Database) -> Int {
        let connection = Connection(database: database, path: self.pool.path, fault: nil)
        var group = Transaction(connection: connection, isSingle: works.count == 1)
        guard group.begin() else {
            self.health.committed(group.failure)
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
        group.end()
        // Before those who asked: they may look at it.
        self.health.committed(group.diskFailure)
        group.finish()
        self.limit(connection)
        return count
    }

    /// Keeps the log short, and the marker ahead of what a lost log would leave.
    private func limit(_ connection: Connection, after pages: Int = WriteAheadLog.pages) {
        guard self.log.limit(connection.database, after: pages) else { return }
        self.marker.advance(connection)
    }
}

/// Called with transfers that are removed and may have files, and whether the partial files are to be deleted.
typealias RemovalHandler = @Sendable ([StoredTransfer], Bool) -> Void
