// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Dispatch
internal import Logging
internal import Synchronization

internal import Platform

/// Runs the user's commands, a few at a time; the queue never waits for a command.
final class HookRunner: Sendable {
    private struct State {
        var waiting: [HookCall] = []
        var running = 0
        var dropped = 0
        var isStopped = false
        var children: [pid_t: ChildProcess] = [:]
    }

    /// The maximum number of commands that run at once.
    static let concurrency = 4
    /// The maximum number of waiting calls; calls beyond it are dropped and logged.
    static let longestQueue = 10_000

    private let commands: HookCommands
    private let timeout: Duration
    private let logger: Logger
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "martlet.hooks", attributes: .concurrent)

    /// Creates a runner.
    ///
    /// - Parameters:
    ///   - commands: The commands.
    ///   - timeout: The maximum run time; then the process group gets SIGTERM, and SIGKILL two seconds later.
    ///   - logger: The logger for failures.
    init(_ commands: HookCommands, timeout: Duration = .seconds(300), logger: Logger) {
        self.commands = commands
        self.timeout = timeout
        self.logger = logger
    }

    /// Queues the commands for an event; returns immediately.
    func handle(_ event: ServiceEvent) {
        for call in self.commands.calls(for: event) { self.add(call) }
    }

    private func add(_ call: HookCall) {
        let isDropped = self.state.withLock { state in
            guard !state.isStopped, state.waiting.count < Self.longestQueue else {
                state.dropped += 1
                return !state.isStopped && state.dropped % 1000 == 1
            }
            state.waiting.append(call)
            return false
        }
        if isDropped {
            self.logger.warning("hook commands are too slow: dropping calls", metadata: ["hook": "\(call.event)"])
        }
        self.startNext()
    }

    /// Drops waiting calls and sends SIGTERM to running commands.
    func stop() {
        let children = self.state.withLock { state in
            state.isStopped = true
            state.waiting = []
            return Array(state.children.values)
        }
        for child in children { child.signal(SIGTERM) }
    }

    private func startNext() {
        let call: HookCall? = self.state.withLock { state in
            guard state.running < Self.concurrency, !state.waiting.isEmpty else { return nil }
            state.running += 1
            return state.waiting.removeFirst()
        }
        guard let call else { return }
        self.queue.async {
            self.run(call)
            self.state.withLock { $0.running -= 1 }
            self.startNext()
        }
    }

    private func run(_ call: HookCall) {
        let log: Logger.Metadata = [
            "hook": "\(call.event)", "transfer": "\(call.record?.id.description ?? "")",
        ]
        let child: ChildProcess
        do {
            child = try ChildProcess.start(call.arguments, environment: call.environment)
        } catch {
            self.logger.error("a hook command could not be started: \(error)", metadata: log)
            return
        }
        self.state.withLock { $0.children[child.id] = child }
        let watch = self.watch(child)
        child.write(call.input)
        let end = child.wait()
        // Removed immediately: a later signal could reach another process with the same number.
        _ = self.state.withLock { $0.children.removeValue(forKey: child.id) }
        watch.cancel()
        if end != .exited(0) {
            self.logger.warning("a hook command failed", metadata: log.merging(["end": "\(end)"]) { $1 })
        }
    }

    /// Schedules the end of a command that exceeds the timeout.
    private func watch(_ child: ChildProcess) -> DispatchWorkItem {
        let (seconds, attoseconds) = self.timeout.components
        let nanoseconds = Int(clamping: seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        let item = DispatchWorkItem { [self] in
            self.signal(child, SIGTERM)
            self.queue.asyncAfter(deadline: .now() + 2) { self.signal(child, SIGKILL) }
        }
        self.queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds), execute: item)
        return item
    }

    private func signal(_ child: ChildProcess, _ number: Int32) {
        self.state.withLock { state in if state.children[child.id] != nil { child.signal(number) } }
    }
}
