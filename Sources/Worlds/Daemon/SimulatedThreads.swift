// SPDX-License-Identifier: Apache-2.0
package import QueueStore

extension StoreThreads {
    /// The threads of a store in a process of a world: each performs its work in order, some time later.
    static func simulated(_ scheduler: Scheduler, _ process: SimulatedProcess) -> StoreThreads {
        StoreThreads(
            makeWorker: { _ in SimulatedWorker(scheduler, process) },
            now: { .nanoseconds(scheduler.now) }
        )
    }
}

/// `@unchecked Sendable`: a world runs on one thread.
private final class SimulatedWorker: SerialWorker, @unchecked Sendable {
    private let scheduler: Scheduler
    private let process: SimulatedProcess
    private var due: Int64 = 0

    init(_ scheduler: Scheduler, _ process: SimulatedProcess) {
        self.scheduler = scheduler
        self.process = process
    }

    func perform(_ work: @escaping @Sendable () -> Void) {
        if self.process.isDisposing { return work() }
        // A thread that was woken, and the transactions of the disk before.
        let delay = Int64.random(in: 0...3_000_000, using: &self.scheduler.random)
        self.due = max(self.due, self.scheduler.now + delay)
        self.scheduler.schedule(after: self.due - self.scheduler.now, in: self.process, work)
    }
}
