// SPDX-License-Identifier: Apache-2.0
package import Concurrency

/// The threads and the clock of a store.
///
/// The port by which simulations run a store on one thread in virtual time.
package struct StoreThreads: Sendable {
    /// Creates a worker; the label is for debuggers.
    package var makeWorker: SerialWorkerFactory
    /// Returns the time of a monotonic clock.
    package var now: @Sendable () -> Duration

    /// Creates the port from its parts.
    package init(
        makeWorker: @escaping SerialWorkerFactory,
        now: @escaping @Sendable () -> Duration
    ) {
        self.makeWorker = makeWorker
        self.now = now
    }

    /// Dispatch queues and the system's clock.
    ///
    /// A serial queue has its own thread while it has work, however many other queues are blocked.
    package static var system: StoreThreads {
        let beginning = ContinuousClock.now
        return StoreThreads(
            makeWorker: DispatchWorker.factory,
            now: { ContinuousClock.now - beginning }
        )
    }
}
