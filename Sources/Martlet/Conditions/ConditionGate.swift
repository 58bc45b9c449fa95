// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization

/// Lets tasks start while the configuration's conditions are met.
package final class ConditionGate: Sendable {
    private let discretion: Discretion?
    private let allowsExpensiveNetwork: Bool
    private let conditions: any SystemConditions
    private let minuteOfDay: @Sendable () -> Int
    /// The interval between two checks, in seconds.
    private let interval: Double

    private struct State {
        var waiting: [WeakTask] = []
        /// Started tasks, to be held again when the conditions change.
        var running: [WeakTask] = []
        var isWatching = false
    }

    private struct WeakTask: Sendable { weak let task: TransferTask? }

    private let state = Mutex(State())

    /// Creates a gate, or `nil` if the configuration sets no conditions.
    package convenience init?(_ configuration: SessionConfiguration) {
        self.init(configuration, minuteOfDay: { SystemClock.minuteOfDay })
    }

    init?(
        _ configuration: SessionConfiguration,
        interval: Double = 5,
        minuteOfDay: @escaping @Sendable () -> Int
    ) {
        guard configuration.discretion != nil || !configuration.allowsExpensiveNetwork else { return nil }
        self.discretion = configuration.discretion
        self.allowsExpensiveNetwork = configuration.allowsExpensiveNetwork
        self.conditions = configuration.conditions
        self.interval = interval
        self.minuteOfDay = minuteOfDay
    }

    /// Whether the conditions are met now.
    package var isOpen: Bool {
        if !self.allowsExpensiveNetwork, self.conditions.isNetworkExpensive { return false }
        guard let discretion = self.discretion else { return true }
        if discretion.requiresMainsPower, self.conditions.isOnBattery { return false }
        return discretion.allows(minuteOfDay: self.minuteOfDay())
    }

    /// Resumes a task as soon as the conditions are met.
    func whenOpen(_ task: TransferTask) {
        self.state.withLock { $0.waiting.append(WeakTask(task: task)) }
        self.watch()
    }

    /// Registers a started task, which is held again when the conditions change.
    func started(_ task: TransferTask) {
        self.state.withLock { $0.running.append(WeakTask(task: task)) }
        self.watch()
    }

    /// Starts polling the conditions, while a task depends on them: the system does not report changes.
    private func watch() {
        let starts = self.state.withLock { state in
            defer { state.isWatching = true }
            return !state.isWatching
        }
        if starts { self.lookLater() }
    }

    private func lookLater() {
        DispatchQueue.global().asyncAfter(deadline: .now() + self.interval) { [weak self] in self?.look() }
    }

    private func look() {
        let isOpen = self.isOpen
        let (resumed, held): ([TransferTask], [TransferTask]) = self.state.withLock { state in
            state.waiting.removeAll { $0.task == nil }
            state.running.removeAll { $0.task?.state == .ended || $0.task == nil }
            defer { if isOpen { state.waiting = [] } else { state.running = [] } }
            return isOpen ? (state.waiting.compactMap(\.task), []) : ([], state.running.compactMap(\.task))
        }
        // Each task checks the conditions again, and is registered again if they have changed meanwhile.
        for task in resumed { task.conditionsHold() }
        for task in held { task.conditionsEnded() }
        let goesOn = self.state.withLock { state in
            state.isWatching = !state.waiting.isEmpty || !state.running.isEmpty
            return state.isWatching
        }
        if goesOn { self.lookLater() }
    }
}
