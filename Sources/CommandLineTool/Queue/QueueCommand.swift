import ArgumentParser
import Control
import Dispatch
#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif
import Synchronization

/// A command that speaks to the daemon.
protocol QueueCommand: ParsableCommand, Sendable {
    /// Does it.
    ///
    /// - Returns: The exit status.
    /// - Throws: ``BadValue`` for what the user wrote, `ControlError` for what the daemon says or why it cannot be asked.
    func execute(_ console: Console) async throws -> Int32
}

extension QueueCommand {
    func run() throws {
        // A reader that went away ends the output, not the process.
        signal(SIGPIPE, SIG_IGN)
        throw ExitCode(QueueRun.wait { await QueueRun.status(of: self, Console()) })
    }
}

/// Runs commands of the queue and tells how they failed.
enum QueueRun {
    /// The command that these arguments call, where it is one of the queue.
    ///
    /// - Throws: ArgumentParser's error that says what is wrong.
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
        } catch let error as BadValue {
            return self.tell(CommandLineTool.usage(error, of: type(of: command)._commandName), console)
        } catch {
            return self.tell("martlet: \(error)", console)
        }
    }

    /// Waits on this thread, which must not be one of Swift's pool, for work on that.
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

    private final class Outcome: Sendable {
        let status = Mutex<Int32>(0)
    }

    private static func tell(_ message: String, _ console: Console) -> Int32 {
        for line in message.split(separator: "\n") { console.tell(String(line)) }
        return ExitStatus.usage
    }
}

extension ExitStatus {
    /// No daemon runs, or it cannot be reached (EX_UNAVAILABLE of sysexits: outside of aria2's list).
    static let noDaemon: Int32 = 69

    /// The status that tells an error of the daemon's.
    static func of(_ error: ControlError) -> Int32 {
        switch error.code {
        case .notRunning, .unreachable, .protocolMismatch, .stopping: self.noDaemon
        case .badParameter, .notFound, .ambiguous, .wrongState, .unknownMethod, .duplicate: self.usage
        case .diskFull: 9
        default: 1
        }
    }
}
