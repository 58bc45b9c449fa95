// SPDX-License-Identifier: Apache-2.0
public import Dispatch
internal import Synchronization

/// The context in which a delegate or a completion handler is called.
///
/// It is chosen for each delegate. The calls of one delegate never overlap and keep their order in every context.
public struct CallbackContext: Sendable {
    let run: @Sendable (@escaping @Sendable () -> Void) -> Void
    /// Whether the calling thread is in the context, so that it may make the calls itself while it waits for them.
    let isCurrent: @Sendable () -> Bool

    /// Creates a context from a function that runs work, for example on a thread of the program.
    ///
    /// - Parameters:
    ///   - run: Runs the given work soon, once, on any thread; it must return before the work runs.
    ///   - isCurrent: Whether the calling thread runs the context's work, and no other thread can run it meanwhile. Then
    ///     ``TransferQueue/waitUntilFinishedBlocking(timeout:)`` on this thread makes the calls itself; if it is never
    ///     true, such a wait outside of a delegate's call never ends there without a timeout.
    public init(
        _ run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        isCurrent: @escaping @Sendable () -> Bool = { false }
    ) {
        self.run = run
        self.isCurrent = isCurrent
    }

    /// Any thread of the system's global queue.
    public static let anyThread = CallbackContext { work in DispatchQueue.global().async(execute: work) }

    /// The main thread's queue, which is the main actor's executor.
    public static let main = CallbackContext {
        DispatchQueue.main.async(execute: $0)
    } isCurrent: {
        BlockingCall.isMainThread
    }

    /// A dispatch queue, serial or concurrent.
    public static func queue(_ queue: DispatchQueue) -> CallbackContext {
        if queue === DispatchQueue.main { return .main }
        let mark = QueueMark.of(queue)
        return CallbackContext {
            queue.async(execute: $0)
        } isCurrent: {
            mark?.isCurrent ?? false
        }
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
        let isMain = actor is MainActor
        return CallbackContext { [weak actor] work in
            guard let actor else { return DispatchQueue.global().async(execute: work) }
            Task { await Self.run(work, on: actor) }
        } isCurrent: {
            isMain && BlockingCall.isMainThread
        }
    }

    private static func run(_ work: @Sendable () -> Void, on actor: isolated some Actor) { work() }
}

/// Finds out whether the calling thread runs work of a dispatch queue, or of one that targets it.
private struct QueueMark: Sendable {
    private let key: DispatchSpecificKey<Bool>

    private static let marks = DispatchSpecificKey<QueueMark>()
    private static let making = Mutex(())

    /// The mark of a queue, made at the first call; `nil` for a global queue, which cannot have one.
    static func of(_ queue: DispatchQueue) -> QueueMark? {
        if queue.label.hasPrefix("com.apple.root.") { return nil }
        return self.making.withLock { _ in
            if let mark = queue.getSpecific(key: self.marks) { return mark }
            let mark = QueueMark(key: DispatchSpecificKey())
            queue.setSpecific(key: mark.key, value: true)
            queue.setSpecific(key: self.marks, value: mark)
            return mark
        }
    }

    /// Whether the calling thread runs its work, or that of a queue that targets it.
    var isCurrent: Bool { DispatchQueue.getSpecific(key: self.key) == true }
}
