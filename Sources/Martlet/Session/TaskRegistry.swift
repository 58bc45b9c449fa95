internal import Synchronization

/// A session's tasks that have not ended, and whether more may come.
///
/// Tasks that the session has begun are kept, those that it has not or that are suspended are known only.
final class TaskRegistry: Sendable {
    private enum Held: Sendable {
        case strong(TransferTask)
        case weak(WeakTask)

        var task: TransferTask? {
            switch self {
            case .strong(let task): task
            case .weak(let reference): reference.task
            }
        }
    }

    private struct WeakTask: Sendable { weak let task: TransferTask? }

    private enum Standing {
        case open
        case finishing
        case invalid
    }

    private struct State {
        var lastNumber = 0
        var tasks: [Int: Held] = [:]
        var standing = Standing.open
    }

    private let state = Mutex(State())
    /// Whether tasks are kept that are suspended: a background session's, which outlive the program.
    private let keepsSuspended: Bool

    /// - Parameters:
    ///   - lastNumber: What the first task's number follows.
    ///   - keepsSuspended: Whether suspended tasks are kept.
    init(lastNumber: Int = 0, keepsSuspended: Bool = false) {
        self.keepsSuspended = keepsSuspended
        self.state.withLock { $0.lastNumber = lastNumber }
    }

    /// Keeps a task that an earlier run of the program made, under the number that it had where it is free.
    func adopt<Made: TransferTask>(_ number: Int?, _ make: (Int) -> Made) -> Made {
        self.state.withLock { state in
            var number = number ?? 0
            if number <= 0 || state.tasks[number] != nil {
                state.lastNumber += 1
                number = state.lastNumber
            }
            let task = make(number)
            state.tasks[number] = .strong(task)
            return task
        }
    }

    /// A number for a task, or `nil` where no more may come.
    func numberForNew() -> Int? {
        self.state.withLock { state in
            guard case .open = state.standing else { return nil }
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    /// A number for a task that goes on with another one's transfer.
    func numberForTurned() -> Int {
        self.state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    /// The tasks, in the order in which they were made.
    var tasks: [TransferTask] {
        self.state.withLock { $0.tasks.sorted { $0.key < $1.key }.compactMap(\.value.task) }
    }

    /// Keeps a task.
    func keep(_ task: TransferTask) {
        self.state.withLock { state in
            // A task that ends at this moment is forgotten after it was marked: it must not come back for ever.
            if !task.facts.withLock({ $0.isEnded }) { state.tasks[task.id] = .strong(task) }
        }
    }

    /// Knows a new task without keeping it.
    func know(_ task: TransferTask) {
        self.state.withLock { $0.tasks[task.id] = .weak(WeakTask(task: task)) }
    }

    /// Keeps a task no longer, if it is there.
    func letGo(_ task: TransferTask) {
        if self.keepsSuspended { return }
        self.state.withLock { state in
            if state.tasks[task.id] != nil { state.tasks[task.id] = .weak(WeakTask(task: task)) }
        }
    }

    /// Forgets a task.
    func forget(_ id: Int) {
        // Let go of outside the lock: it may be the last reference.
        let task = self.state.withLock { $0.tasks.removeValue(forKey: id) }
        withExtendedLifetime(task) {}
    }

    /// Takes no more tasks.
    func finish() {
        self.state.withLock { state in
            if case .open = state.standing { state.standing = .finishing }
        }
    }

    /// Whether the last task of a session that takes no more has just gone; true once.
    func becomesInvalid() -> Bool {
        self.state.withLock { state in
            guard case .finishing = state.standing, state.tasks.isEmpty else { return false }
            state.standing = .invalid
            return true
        }
    }
}
