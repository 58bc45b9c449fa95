// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Platform
import Synchronization

/// The surroundings of a demo: its directory, its processes, its output, and the signals that end it.
///
/// Used by the main thread only: the kernel ends the processes with the thread that started them.
final class DemoStage {
    /// The reason that a demo, or a step of it, ends early.
    enum Interruption: Error {
        case signal
        /// Standard output cannot be written; the error number is 0 or `EPIPE` if its reader has closed or abandoned it.
        case brokenOutput(Int32)
        case serverEnded(ChildProcess.End)
        /// An observation did not come within its limit.
        case timeout(String, log: String?)
        /// The step was over before it could be disturbed, or could not be measured: it is repeated.
        case tooLate(String)
        /// An observation of a step is not the expected one.
        case notHeld(DemoVerdict.Mismatch)
    }

    let directory: DemoDirectory
    /// Whether the progress of the commands is drawn on the terminal.
    let isLive: Bool
    /// The server, without which every wait ends.
    var server: DemoProcess?

    private let executable: String
    private let output = OutputStream(STDOUT_FILENO)
    private let wakeUp: WakeUp
    private let isStopped: StopFlag
    private let limit: Duration
    private var processes: [DemoProcess] = []
    /// The processes that can draw on the terminal.
    private var shown: [DemoProcess] = []

    private final class StopFlag: Sendable {
        let value = Atomic(false)
    }

    /// Creates the directory, and starts to handle signals.
    ///
    /// - Parameter limit: The maximum time of each observation.
    /// - Precondition: No other thread is running.
    /// - Throws: ``SyntaxError`` if something cannot be created, `ControlError` if the executable is not found.
    init(limit: Duration) throws {
        let signals = SignalWatcher()
        // The path itself, not the link in /proc, which has another meaning in another process.
        self.executable = try DaemonExecutable.own() ?? DaemonExecutable.find()
        self.isLive = Terminal.isInteractive(STDOUT_FILENO) && Terminal.isInteractive(STDERR_FILENO)
        self.limit = limit
        let wakeUp = try WakeUp()
        let isStopped = StopFlag()
        self.wakeUp = wakeUp
        self.isStopped = isStopped
        let output = self.output
        try signals.start(
            stop: {
                isStopped.value.store(true, ordering: .releasing)
                output.hurry()
                wakeUp.wake()
            },
            resized: {}
        )
        self.directory = try DemoDirectory()
    }

    /// Whether the system reports the current boot, by which partial files are known to be those of a killed process,
    /// and not those of a crashed machine.
    static var isBootKnown: Bool { access("/proc/sys/kernel/random/boot_id", R_OK) == 0 }

    /// Writes lines to standard output, wrapped to the terminal's width.
    func say(_ lines: String...) {
        let columns = self.isLive ? Terminal.size(STDOUT_FILENO).columns : .max
        let wrapped = lines.joined(separator: "\n").split(separator: "\n", omittingEmptySubsequences: false)
            .flatMap { DemoText.wrapped(String($0), columns: columns) }
        self.output.write(wrapped.map { $0 + "\n" }.joined())
    }

    /// Throws if the demo is to end.
    func check() throws(Interruption) {
        if self.isStopped.value.load(ordering: .acquiring) { throw .signal }
        if self.output.isBroken { throw .brokenOutput(self.output.failure) }
        if let end = self.server?.end { throw .serverEnded(end) }
    }

    /// Waits until a closure returns a value.
    ///
    /// - Parameters:
    ///   - what: The awaited event, for the message.
    ///   - log: A file in the directory that explains a timeout.
    ///   - observe: Called about forty times a second.
    /// - Returns: The value.
    /// - Throws: ``Interruption``, and what the closure throws.
    func wait<Value>(for what: String, log: String? = nil, _ observe: () throws -> Value?) throws -> Value {
        let deadline = ContinuousClock.now + self.limit
        while true {
            if let value = try observe() { return value }
            try self.check()
            if ContinuousClock.now >= deadline {
                throw Interruption.timeout("\(what), not seen within \(DurationText.seconds(self.limit)) s", log: log)
            }
            self.wakeUp.wait(milliseconds: 25)
        }
    }

    /// Starts a command of this executable in the directory.
    ///
    /// - Parameters:
    ///   - words: The command and its arguments.
    ///   - log: The file for its output: all of it, or only its standard output if `isShown`.
    ///   - isShown: Whether its standard error is that of the demo, if that is a terminal.
    /// - Returns: The running process.
    /// - Throws: ``SyntaxError`` if it cannot be started.
    func start(_ words: [String], log: String, isShown: Bool = false) throws(SyntaxError) -> DemoProcess {
        let file = DemoProcess.Output.file(self.directory.path(log))
        let process = try DemoProcess(
            self.executable,
            words,
            in: self.directory.path,
            environment: [
                "MARTLET_STATE_DIR": self.directory.path("state"),
                // Proxies of the user's environment do not know this machine's loopback address.
                "no_proxy": "*", "NO_PROXY": "*",
            ],
            output: file,
            errors: isShown && self.isLive ? .inherited : file
        )
        self.processes.append(process)
        if isShown { self.shown.append(process) }
        return process
    }

    /// Waits until a process has ended.
    func end(of process: DemoProcess, _ name: String, log: String? = nil) throws -> ChildProcess.End {
        try self.wait(for: "the end of \(name)", log: log) { process.end }
    }

    /// Kills a process, and waits until it has ended.
    ///
    /// - Returns: How it ended: not by the signal, if it ended before.
    func kill(_ process: DemoProcess, _ name: String) throws -> ChildProcess.End {
        process.signal(SIGKILL)
        let end = try self.end(of: process, name)
        // The progress remains where it was: the next line is written below it.
        if self.isLive { self.say("") }
        return end
    }

    /// The line of a log in the directory that explains a failure; `nil` if it is empty.
    func reason(in log: String) -> String? {
        DemoText.reason(in: self.directory.text(log)).map { DisplayText.clean($0) }
    }

    /// Ends all processes and removes the directory.
    ///
    /// The server and the daemon get four seconds to stop.
    func close() {
        // Their advice on how to continue does not apply to the demo.
        let running = self.shown.filter { $0.end == nil }
        for process in running { process.signal(SIGKILL) }
        if self.isLive, !running.isEmpty { self.say("") }
        for process in self.processes { process.signal(SIGTERM) }
        let deadline = ContinuousClock.now + .seconds(4)
        while self.processes.contains(where: { $0.end == nil }), ContinuousClock.now < deadline {
            poll(nil, 0, 10)
        }
        for process in self.processes { process.signal(SIGKILL) }
        for process in self.processes { while process.end == nil { poll(nil, 0, 5) } }
        // The socket of a state directory with a long path is elsewhere. Only an empty directory is removed.
        if let state = try? StateDirectory(self.directory.path("state")), state.hasDistantSocket {
            let socket = state.socketPath
            unlink(socket)
            rmdir(String(socket[..<(socket.lastIndex(of: "/") ?? socket.startIndex)]))
        }
        self.directory.remove()
    }
}

extension DemoText {
    /// The message for standard output that cannot be written; `nil` if its reader ended, which knows that.
    static func brokenOutput(_ number: Int32) -> String? {
        guard number != 0, number != EPIPE else { return nil }
        return "cannot write to standard output: \(String(cString: strerror(number))); the demo's directory is removed"
    }
}

/// Formats durations of the demo.
enum DurationText {
    /// Whole seconds, rounded down.
    static func seconds(_ duration: Duration) -> Int64 { duration.components.seconds }
}
