public import Dispatch

/// Where delegates and completion handlers are called.
///
/// Whoever is to be called chooses it; the calls for one delegate never overlap and keep their order in any of them.
public struct CallbackContext: Sendable {
    let run: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// Creates a context from whatever runs work, such as an event loop of the program's own.
    ///
    /// - Parameter run: Runs the work it is given soon, once, on any thread; it must not run it before it returns.
    public init(_ run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.run = run
    }

    /// Any thread of the system's pool.
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

    /// An actor, held weakly: the calls are made on its executor, so that a delegate may `assumeIsolated`.
    ///
    /// As the actor's executor is Swift's own pool, blocking calls are refused there; so they are on a task executor.
    public static func actor(_ actor: some Actor) -> CallbackContext {
        // Weakly: an actor that is its own delegate would keep itself alive.
        CallbackContext { [weak actor] work in
            guard let actor else { return DispatchQueue.global().async(execute: work) }
            Task { await Self.run(work, on: actor) }
        }
    }

    private static func run(_ work: @Sendable () -> Void, on actor: isolated some Actor) { work() }
}
