// SPDX-License-Identifier: Apache-2.0
internal import Dispatch

/// Performs work in order, one piece after another, without blocking the caller.
package protocol SerialWorker: Sendable {
    /// Performs `work` after the earlier pieces.
    func perform(_ work: @escaping @Sendable () -> Void)
}

/// The threads and the clock of a store.
///
/// The port by which simulations run a store on one thread in virtual time.
package struct StoreThreads: Sendable {
    /// Creates a worker; the label is for debuggers.
    package var makeWorker: @Sendable (_ label: String) -> any SerialWorker
    /// Returns the time of a monotonic clock.
    package var now: @Sendable () -> Duration

    /// Creates the port from its parts.
    package init(
        makeWorker: @escaping @Sendable (_ label: String) -> any SerialWorker,
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
            makeWorker: { label in QueueWorker(queue: DispatchQueue(label: label)) },
            now: { ContinuousClock.now - beginning }
        )
    }

    private struct QueueWorker: SerialWorker {
        let queue: DispatchQueue

        func perform(_ work: @escaping @Sendable () -> Void) { self.queue.async(execute: work) }
    }
}
