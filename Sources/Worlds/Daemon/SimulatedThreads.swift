// SPDX-License-Identifier: Apache-2.0
internal import QueueStore

extension StoreThreads {
    /// The threads of a store in a process of a world: each performs its work in order, some time later.
    static func simulated(_ scheduler: Scheduler, _ process: SimulatedProcess) -> StoreThreads {
        StoreThreads(
            makeWorker: SimulatedWorker.factory(scheduler, process),
            now: { .nanoseconds(scheduler.now) }
        )
    }
}
