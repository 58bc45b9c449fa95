// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// Combines concurrent writes in one transaction, each in its savepoint, so that they cost one sync.
///
/// Runs on the writing thread, as one job while there is work. Background work, see ``Chores``,
/// runs between groups in short transactions.
final class GroupCommit: Sendable {
    private struct State {
        var works: [Work] = []
        var isRunning = false
        var isClosed = false
        /// Whether there may be background work.
        var hasChores = true
        var handler: RemovalHandler?
    }

    private let thread: WritingThread
    private let log: WriteAheadLog
    private let health: WriteHealth
    private let marker: StateMarker
    /// The maximum duration of a group's works, so that early callers do not wait for all later ones.
    private let longest: Duration
    private let now: @Sendable () -> Duration
    private let state = Mutex(State())

    /// The minimum interval between two background steps while there are writes.
    private static let pause = Duration.milliseconds(50)

    init(
        thread: WritingThread,
        log: WriteAheadLog,
        longest: Duration,
        now: @escaping @Sendable () -> Duration,
        health: WriteHealth,
        marker: StateMarker
    ) {
        self.thread = thread
        self.log = log
        self.longest = longest
        self.now = now
        self.health = health
        self.marker = marker
    }

    /// Enqueues a write; refuses it after ``close()``.
    func add(_ work: Work) {
        let isTaken = self.state.withLock { state in
            guard !state.isClosed else { return false }
            state.works.append(work)
            return true
        }
        guard isTaken else { return work.refuse(.closed(self.thread.path)) }
        self.start()
    }

    /// Starts the job for writes and background work, unless it runs already.
    func start() {
        let isNeeded = self.state.withLock { state in
            guard !state.isRunning, !state.isClosed else { return false }
            state.isRunning = true
            return true
        }
        if isNeeded { self.thread.perform { self.run($0) } }
    }

    /// Sets the handler of removed transfers; without it they are kept.
    func observe(_ handler: @escaping RemovalHandler) {
        self.state.withLock { ($0.handler, $0.hasChores) = (handler, true) }
        self.start()
    }

    /// Refuses all later writes.
    func close() { self.state.withLock { $0.isClosed = true } }

    /// Performs all enqueued writes and background work; must be called on the writing thread.
    func run(_ connection: Connection) {
        var chores = Chores(connection, now: self.now)
        var last = self.now()
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
                while !left.isEmpty { left = left.dropFirst(self.commit(left, connection)) }
                if !hasChores { self.setChores(chores.isNeeded(withHandler: self.handler != nil)) }
                // Writes precede background work, but do not delay it forever.
                guard hasChores, self.now() - last >= Self.pause else { continue }
                self.step(&chores)
                last = self.now()
            case .chore:
                self.step(&chores)
                last = self.now()
            case .end: return
            }
        }
    }

    /// Performs all background work; must be called on the writing thread.
    func finishChores(_ connection: Connection) {
        var chores = Chores(connection, now: self.now)
        repeat { self.step(&chores) } while self.state.withLock { $0.hasChores }
    }

    private var handler: RemovalHandler? { self.state.withLock { $0.handler } }

    private func setChores(_ hasChores: Bool) { self.state.withLock { $0.hasChores = hasChores } }

    private func step(_ chores: inout Chores) {
        do throws(QueueStoreError) {
            self.setChores(try chores.step(self.handler))
            self.limit(chores.connection, after: WriteAheadLog.fewPages)
        } catch {
            // Tried again after the next successful write.
            self.setChores(false)
            self.health.committed(error.isOfTheDisk ? error : nil)
        }
    }

    /// Performs the first of `works`, as many as one transaction may hold, and returns their number.
    private func commit(_ works: ArraySlice<Work>, _ connection: Connection) -> Int {
        var group = Transaction(connection: connection, isSingle: works.count == 1)
        guard group.begin() else {
            self.health.committed(group.failure)
            for work in works { group.refuse(work) }
            return works.count
        }
        let end = self.now() + self.longest
        var count = 0
        for work in works {
            group.perform(work)
            count += 1
            if self.now() >= end { break }
        }
        group.end()
        // Before the callers are resumed: they may read it.
        self.health.committed(group.diskFailure)
        group.finish()
        self.limit(connection)
        return count
    }

    /// Limits the size of the log; after a checkpoint advances the marker, so that the loss of a later log is detected.
    private func limit(_ connection: Connection, after pages: Int = WriteAheadLog.pages) {
        guard self.log.limit(connection.sqlite, after: pages) else { return }
        self.marker.advance(connection)
    }
}

/// Called with removed transfers that may have files, and whether their partial files are to be deleted.
typealias RemovalHandler = @Sendable ([StoredTransfer], Bool) -> Void
