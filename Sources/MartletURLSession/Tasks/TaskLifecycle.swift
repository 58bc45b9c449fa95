// SPDX-License-Identifier: Apache-2.0

/// The life of a task of `URLSession`: suspensions that are counted, a cancellation, and one end.
///
/// Pure: commands in, what is to be done out.
struct TaskLifecycle: Sendable, Equatable {
    /// The consequence of a command.
    enum Effect: Sendable, Equatable {
        case nothing
        /// Begin the transfer, for the first time.
        case start
        /// Continue a transfer that was suspended.
        case resume
        case suspend
        case cancel
    }

    /// The public state.
    enum State: Int, Sendable {
        case running = 0
        case suspended = 1
        case canceling = 2
        case completed = 3
    }

    private(set) var suspensions = 1
    /// Whether the transfer has begun; from then on the session lists the task.
    private(set) var hasStarted = false
    private var isCancelled = false
    private(set) var isComplete = false

    /// The state as programs see it.
    var state: State {
        if self.isComplete { return .completed }
        if self.isCancelled { return .canceling }
        return self.suspensions > 0 ? .suspended : .running
    }

    private var isOver: Bool { self.isComplete || self.isCancelled }

    /// Undoes one suspension; the last one starts or continues the transfer.
    mutating func resume() -> Effect {
        guard !self.isOver, self.suspensions > 0 else { return .nothing }
        self.suspensions -= 1
        guard self.suspensions == 0 else { return .nothing }
        defer { self.hasStarted = true }
        return self.hasStarted ? .resume : .start
    }

    /// Adds a suspension; the first one interrupts the transfer.
    mutating func suspend() -> Effect {
        guard !self.isOver else { return .nothing }
        self.suspensions += 1
        return self.suspensions == 1 ? .suspend : .nothing
    }

    /// Cancels the task, once; ``complete()`` follows later.
    mutating func cancel() -> Effect {
        guard !self.isOver else { return .nothing }
        self.isCancelled = true
        self.hasStarted = true
        return .cancel
    }

    /// Ends the task.
    ///
    /// - Returns: Whether this is the first end.
    mutating func complete() -> Bool {
        guard !self.isComplete else { return false }
        self.isComplete = true
        return true
    }

    /// The life of a task that an earlier run of the program started.
    static func adopted(isSuspended: Bool) -> TaskLifecycle {
        var life = TaskLifecycle()
        life.hasStarted = true
        life.suspensions = isSuspended ? 1 : 0
        return life
    }
}
