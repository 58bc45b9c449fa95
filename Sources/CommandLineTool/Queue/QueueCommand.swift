// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import Control
import Dispatch
import Platform
import Synchronization

/// A command that calls the daemon.
protocol QueueCommand: ParsableCommand, Sendable {
    /// Runs the command.
    ///
    /// - Returns: The exit status.
    /// - Throws: ``SyntaxError`` for invalid arguments, `ControlError` for errors of the daemon or of the connection to
    ///   it.
    func execute(_ console: Console) async throws -> Int32
}

extension QueueCommand {
    func run() throws {
        // A reader that closes the pipe ends the output, not the process.
        signal(SIGPIPE, SIG_IGN)
        throw ExitCode(QueueRun.wait { await QueueRun.status(of: self, Console()) })
    }
}

/// Runs queue commands and prints their errors.
enum QueueRun {
    /// Parses arguments; returns `nil` if the command is not a queue command.
    ///
    /// - Throws: ArgumentParser's error.
    static func command(_ arguments: [String]) throws -> (any QueueCommand)? {
        try MartletCommand.parseAsRoot(arguments) as? any QueueCommand
    }

    /// Runs a command.
    ///
    /// - Returns: The exit status.
    static func status(of command: some QueueCommand, _ console: Console) async -> Int32 {
        do {
            return try await command.execute(console)
        } catch let error as ControlError {
            console.tell("martlet: \(error.description)")
            return ExitStatus.of(error)
        } catch let error as SyntaxError {
            return self.tell(CommandLineTool.usage(error, of: [type(of: command)._commandName]), console)
        } catch {
            return self.tell("martlet: \(error)", console)
        }
    }

    /// Runs asynchronous work and blocks until it ends; must not be called on a thread of Swift's concurrency pool.
    static func wait(_ work: @escaping @Sendable () async -> Int32) -> Int32 {
        let done = DispatchSemaphore(value: 0)
        let outcome = Outcome()
        Task {
            let status = await work()
            outcome.status.withLock { $0 = status }
            done.signal()
        }
        done.wait()
        return outcome.status.withLock { $0 }
    }

    /// Runs asynchronous work and blocks until it ends, at most for some time; not on a thread of Swift's pool.
    ///
    /// - Returns: The result, or `nil` if the time has passed: the work is cancelled then.
    static func result<Value: Sendable>(
        within seconds: Int,
        _ work: @escaping @Sendable () async -> Value
    ) -> Value? {
        let done = DispatchSemaphore(value: 0)
        let outcome = Kept<Value>()
        let task = Task {
            let value = await work()
            outcome.value.withLock { $0 = value }
            done.signal()
        }
        if done.wait(timeout: .now() + .seconds(seconds)) == .timedOut { task.cancel() }
        return outcome.value.withLock { $0 }
    }

    private final class Outcome: Sendable {
        let status = Mutex<Int32>(0)
    }

    private final class Kept<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
    }

    private static func tell(_ message: String, _ console: Console) -> Int32 {
        for line in message.split(separator: "\n") { console.tell(String(line)) }
        return ExitStatus.usage
    }
}

extension ExitStatus {
    /// No daemon is running or reachable (EX_UNAVAILABLE of sysexits.h; not one of aria2's codes).
    static let noDaemon: Int32 = 69

    /// The exit status for an error of the daemon.
    static func of(_ error: ControlError) -> Int32 {
        switch error.code {
        case .notRunning, .notInstalled, .unreachable, .protocolMismatch, .stopping: self.noDaemon
        case .badParameter, .notFound, .ambiguous, .wrongState, .unknownMethod, .duplicate: self.usage
        case .diskFull: 9
        default: 1
        }
    }
}
