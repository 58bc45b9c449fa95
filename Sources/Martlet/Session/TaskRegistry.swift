// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// A session's tasks that have not ended, and whether it accepts new ones.
///
/// Started tasks are referenced strongly; tasks not yet started or suspended are referenced weakly.
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
    /// Whether suspended tasks are referenced strongly, as in a background session, whose tasks outlive the program.
    private let keepsSuspended: Bool

    /// - Parameters:
    ///   - lastNumber: The number before that of the first task.
    ///   - keepsSuspended: Whether suspended tasks are referenced strongly.
    init(lastNumber: Int = 0, keepsSuspended: Bool = false) {
        self.keepsSuspended = keepsSuspended
        self.state.withLock { $0.lastNumber = lastNumber }
    }

    /// Registers a task that an earlier run of the program made, under its former number if that is free.
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

    /// A number for a new task, or `nil` if the session accepts no more.
    func numberForNew() -> Int? {
        self.state.withLock { state in
            guard case .open = state.standing else { return nil }
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    /// A number for a task that continues another task's transfer.
    func numberForTurned() -> Int {
        self.state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    /// The tasks, ordered by number.
    var tasks: [TransferTask] {
        self.state.withLock { $0.tasks.sorted { $0.key < $1.key }.compactMap(\.value.task) }
    }

    /// References a task strongly.
    func keep(_ task: TransferTask) {
        self.state.withLock { state in
            // A task that is ending now is marked first and forgotten later: it must not be registered again for good.
            if !task.facts.withLock({ $0.isEnded }) { state.tasks[task.id] = .strong(task) }
        }
    }

    /// Registers a new task with a weak reference.
    func know(_ task: TransferTask) {
        self.state.withLock { $0.tasks[task.id] = .weak(WeakTask(task: task)) }
    }

    /// Makes the reference to a registered task weak.
    func letGo(_ task: TransferTask) {
        if self.keepsSuspended { return }
        self.state.withLock { state in
            if state.tasks[task.id] != nil { state.tasks[task.id] = .weak(WeakTask(task: task)) }
        }
    }

    func forget(_ id: Int) {
        // Released outside the lock: it may be the last reference.
        let task = self.state.withLock { $0.tasks.removeValue(forKey: id) }
        withExtendedLifetime(task) {}
    }

    /// Stops accepting tasks.
    func finish() {
        self.state.withLock { state in
            if case .open = state.standing { state.standing = .finishing }
        }
    }

    /// Marks a session that accepts no more tasks as invalid once it has none; returns true once.
    func becomesInvalid() -> Bool {
        self.state.withLock { state in
            guard case .finishing = state.standing, state.tasks.isEmpty else { return false }
            state.standing = .invalid
            return true
        }
    }
}
