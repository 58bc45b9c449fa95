// SPDX-License-Identifier: Apache-2.0
public import Dispatch

/// The context in which a delegate or a completion handler is called.
///
/// It is chosen for each delegate. The calls of one delegate never overlap and keep their order in every context.
public struct CallbackContext: Sendable {
    let run: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// Creates a context from a function that runs work, for example on an event loop of the program.
    ///
    /// - Parameter run: Runs the given work soon, once, on any thread; it must return before the work runs.
    public init(_ run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.run = run
    }

    /// Any thread of the system's global queue.
    public static let anyThread = CallbackContext { work in DispatchQueue.global().async(execute: work) }

    /// The main thread's queue, which is the main actor's executor.
    public static let main = CallbackContext.queue(.main)

    /// A dispatch queue, serial or concurrent.
    public static func queue(_ queue: DispatchQueue) -> CallbackContext {
        CallbackContext { work in queue.async(execute: work) }
    }

    /// A task executor.
    public static func executor(_ executor: any TaskExecutor) -> CallbackContext {
        CallbackContext { work in Task(executorPreference: executor) { work() } }
    }

    /// An actor, referenced weakly; calls are made on its executor, so that a delegate may use `assumeIsolated`.
    ///
    /// Blocking calls are refused there, because the default actor executor is Swift's concurrency pool, and on a task
    /// executor.
    public static func actor(_ actor: some Actor) -> CallbackContext {
        // Weak: an actor that is its own delegate would otherwise never be released.
        CallbackContext { [weak actor] work in
            guard let actor else { return DispatchQueue.global().async(execute: work) }
            Task { await Self.run(work, on: actor) }
        }
    }

    private static func run(_ work: @Sendable () -> Void, on actor: isolated some Actor) { work() }
}
