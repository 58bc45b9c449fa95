// SPDX-License-Identifier: Apache-2.0
@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) internal import _Concurrency

/// Swift's tasks and actors on the scheduler of a world.
///
/// Every job is a piece of work of the process that made it ready. Jobs of a killed process are dropped: their tasks
/// stay suspended for ever.
package enum VirtualConcurrency {
    /// The scheduler of the world that runs; jobs that become ready outside of a world are dropped.
    nonisolated(unsafe) private static var scheduler: Scheduler?
    /// The dead process that is being released, and the number of its sleeps.
    nonisolated(unsafe) private static weak var disposed: SimulatedProcess?
    nonisolated(unsafe) private static var sleeps = 0
    /// Whether ``install()`` was called.
    nonisolated(unsafe) package private(set) static var isInstalled = false

    /// Replaces the executors of the process, for ever.
    ///
    /// For the simulator alone, before its first task: a process that serves real connections would stand still.
    package static func install() {
        guard !self.isInstalled else { return }
        self.isInstalled = true
        _createExecutors(factory: Factory.self)
    }

    /// Runs the tasks of a world on its scheduler while `body` runs.
    package static func running<Result>(on scheduler: Scheduler, _ body: () throws -> Result) rethrows -> Result {
        precondition(self.isInstalled, "the tasks of a world need the executor of the simulator")
        let outer = self.scheduler
        self.scheduler = scheduler
        defer { self.scheduler = outer }
        return try body()
    }

    /// Suspends the task for virtual time, or until it is cancelled.
    package static func sleep(_ duration: Duration) async {
        guard let scheduler = self.scheduler else { return }
        let sleeper = Sleeper(scheduler)
        await withTaskCancellationHandler {
            await withUnsafeContinuation { sleeper.begin($0, duration.nanoseconds) }
        } onCancel: {
            sleeper.end()
        }
    }

    /// Counts the sleeps of a dead process.
    fileprivate static func mayEndSleep(_ process: SimulatedProcess) -> Bool {
        if self.disposed !== process { (self.disposed, self.sleeps) = (process, 0) }
        self.sleeps += 1
        return self.sleeps < 50
    }

    fileprivate static func enqueue(_ job: UnownedJob, after delay: Int64 = 0) {
        guard let scheduler = self.scheduler else { return }
        // Threads take up ready jobs in any order.
        let wait = Int64.random(in: 0...40_000, using: &scheduler.random)
        scheduler.schedule(after: delay + wait, in: scheduler.current) {
            job.runSynchronously(on: Factory.executor.asUnownedTaskExecutor())
        }
    }
}

/// `@unchecked Sendable`: a world runs on one thread.
private final class Sleeper: @unchecked Sendable {
    private let scheduler: Scheduler
    private var continuation: UnsafeContinuation<Void, Never>?
    private var scheduled: Scheduled?
    private var hasEnded = false

    init(_ scheduler: Scheduler) { self.scheduler = scheduler }

    func begin(_ continuation: UnsafeContinuation<Void, Never>, _ delay: Int64) {
        guard !self.hasEnded else { return continuation.resume() }
        self.continuation = continuation
        if let process = self.scheduler.current, process.isDisposing {
            // Its tasks sleep no more, so that they end; those that go on for ever are left suspended.
            if VirtualConcurrency.mayEndSleep(process) { self.end() }
            return
        }
        self.scheduled = self.scheduler.schedule(after: delay, in: self.scheduler.current, isTimer: true) { self.end() }
    }

    func end() {
        self.hasEnded = true
        if let scheduled { self.scheduler.cancel(scheduled) }
        self.continuation?.resume()
        self.continuation = nil
    }
}

private struct Factory: ExecutorFactory {
    static let executor = VirtualExecutor()
    static var mainExecutor: any MainExecutor { UnimplementedMainExecutor() }
    static var defaultExecutor: any TaskExecutor { Self.executor }
}

private final class VirtualExecutor: TaskExecutor, SchedulingExecutor {
    func enqueue(_ job: consuming ExecutorJob) { VirtualConcurrency.enqueue(UnownedJob(job)) }

    func enqueue<Time: Clock>(
        _ job: consuming ExecutorJob,
        after delay: Time.Duration,
        tolerance: Time.Duration?,
        clock: Time
    ) {
        VirtualConcurrency.enqueue(UnownedJob(job), after: Self.nanoseconds(delay))
    }

    func enqueue<Time: Clock>(
        _ job: consuming ExecutorJob,
        at instant: Time.Instant,
        tolerance: Time.Duration?,
        clock: Time
    ) {
        VirtualConcurrency.enqueue(UnownedJob(job), after: Self.nanoseconds(clock.now.duration(to: instant)))
    }

    /// Rounds up to milliseconds: `Task.sleep` has subtracted real time, which differs between runs.
    private static func nanoseconds(_ duration: some DurationProtocol) -> Int64 {
        guard let duration = duration as? Duration else { return 0 }
        return (max(0, duration.nanoseconds) + 999_999) / 1_000_000 * 1_000_000
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
