// SPDX-License-Identifier: Apache-2.0
package import Concurrency

/// A thread of a process, which performs its work one piece after another: each piece within two milliseconds.
///
/// `@unchecked Sendable`: a world runs on one thread.
package final class SimulatedWorker: SerialWorker, @unchecked Sendable {
    private let scheduler: Scheduler
    private let process: SimulatedProcess
    private var queue: [() -> Void] = []
    private var isScheduled = false

    /// Creates an idle worker of a process.
    package init(_ scheduler: Scheduler, _ process: SimulatedProcess) {
        self.scheduler = scheduler
        self.process = process
    }

    /// Creates the workers of a process.
    package static func factory(_ scheduler: Scheduler, _ process: SimulatedProcess) -> SerialWorkerFactory {
        { _ in SimulatedWorker(scheduler, process) }
    }

    package func perform(_ work: @escaping @Sendable () -> Void) {
        if self.process.isDisposing { return work() }
        self.queue.append(work)
        self.schedule()
    }

    package func perform(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        let (seconds, attoseconds) = delay.components
        let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        guard !self.process.isDisposing else { return }
        self.scheduler.schedule(after: nanoseconds, in: self.process, isTimer: true) { self.perform(work) }
    }

    /// Performs the waiting work at once: a thread that waits lets no other work happen in a world.
    package func waitUntilIdle() {
        while !self.queue.isEmpty, self.process.isAlive { self.queue.removeFirst()() }
    }

    private func schedule() {
        guard !self.isScheduled, !self.queue.isEmpty else { return }
        self.isScheduled = true
        let delay = Int64.random(in: 0...2_000_000, using: &self.scheduler.random)
        self.scheduler.schedule(after: delay, in: self.process) {
            self.isScheduled = false
            if !self.queue.isEmpty { self.queue.removeFirst()() }
            self.schedule()
        }
    }
}
