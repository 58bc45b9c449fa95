// SPDX-License-Identifier: Apache-2.0
internal import Dispatch

/// Performs work that may block, one piece after another, in the order of the calls.
///
/// The production implementation is ``DispatchWorker``. A simulation performs the work on its only thread, in virtual time.
package protocol SerialWorker: Sendable {
    /// Performs work after all earlier work; returns at once.
    func perform(_ work: @escaping @Sendable () -> Void)

    /// Performs work after a delay; work that is added meanwhile is performed earlier.
    func perform(after delay: Duration, _ work: @escaping @Sendable () -> Void)

    /// Returns when all work without a delay that was added before has been performed.
    ///
    /// Blocks. Must not be called by work of the same worker.
    func waitUntilIdle()
}

/// Creates a worker; the label names its thread in debuggers.
package typealias SerialWorkerFactory = @Sendable (_ label: String) -> any SerialWorker

/// A serial queue of Dispatch, which has its own thread while it has work, however many other queues are blocked.
package final class DispatchWorker: SerialWorker {
    private let queue: DispatchQueue

    /// Creates an idle worker.
    package init(_ label: String) { self.queue = DispatchQueue(label: label) }

    /// Creates workers: the default of everything that needs some.
    package static let factory: SerialWorkerFactory = { DispatchWorker($0) }

    package func perform(_ work: @escaping @Sendable () -> Void) { self.queue.async(execute: work) }

    package func perform(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        let (seconds, attoseconds) = delay.components
        let nanoseconds = Int(min(seconds, 1 << 32)) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        self.queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds), execute: work)
    }

    package func waitUntilIdle() { self.queue.sync {} }
}
