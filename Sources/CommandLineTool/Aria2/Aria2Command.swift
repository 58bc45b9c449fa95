// SPDX-License-Identifier: Apache-2.0
import Control
import Files
import Daemon
import Platform
import TransferCore

/// `aria2c`: the program under the name of aria2's command, with aria2's arguments.
enum Aria2Command {
    /// The word for this command, which the name stands for.
    static let name = "aria2c"

    /// Runs the command.
    ///
    /// - Parameter words: The words after the program's name.
    /// - Returns: The exit status, and the text to print to standard output and to standard error.
    static func run(_ words: [String]) -> (status: Int32, output: String, errors: String) {
        do throws(Aria2Error) {
            let given = try Aria2Settings(parsing: words)
            if let text = Aria2Help.text(given) { return (ExitStatus.success, text, "") }
            let settings = given.over(try self.configuration(given))
            let plan = try Aria2Plan(settings, in: PosixPath.absolute("."))
            try self.checkList(plan)
            if plan.isDetached { return (try Aria2Service.detach(plan, given), "", "") }
            if plan.isDaemon { return (Aria2Service.run(plan), "", "") }
            return (try self.download(plan), "", "")
        } catch {
            return (error.status, "", error.text + (error.text.hasSuffix("\n") ? "" : "\n"))
        }
    }

    // MARK: The configuration file

    /// The paths at which aria2 looks for its configuration, in its order.
    static func configurationPaths(environment: (String) -> String?) -> [String] {
        var paths: [String] = []
        if let home = environment("HOME") { paths.append(home + "/.aria2/aria2.conf") }
        if let config = environment("XDG_CONFIG_HOME") ?? environment("HOME").map({ $0 + "/.config" }) {
            paths.append(config + "/aria2/aria2.conf")
        }
        return paths
    }

    private static func configuration(_ given: Aria2Settings) throws(Aria2Error) -> Aria2Settings {
        guard given.flag("no-conf") != true else { return Aria2Settings() }
        let named = given.text("conf-path")
        for path in named.map({ [$0] }) ?? self.configurationPaths(environment: StateDirectory.environment) {
            let bytes: [UInt8]?
            do throws(StorageError) {
                bytes = try AtomicFile.read(path, atMost: 1 << 20)
            } catch {
                throw Aria2Error(
                    status: 1,
                    "\(DisplayText.clean(error.message)); correct --conf-path, or use --no-conf"
                )
            }
            if let bytes { return try self.parse(bytes, path) }
        }
        guard let named else { return Aria2Settings() }
        let shown = DisplayText.clean(named)
        throw Aria2Error(status: 1, "Configuration file \(shown) is not found.\n" + Aria2Settings.usage)
    }

    /// Parses the content of a configuration file.
    static func parse(_ bytes: [UInt8], _ path: String) throws(Aria2Error) -> Aria2Settings {
        var settings = Aria2Settings()
        let home = StateDirectory.environment("HOME")
        for line in bytes.split(separator: 0x0A) {
            let line = line.last == 0x0D ? line.dropLast() : line
            guard let text = String(validating: line, as: UTF8.self) else {
                throw Aria2Error(
                    status: ExitStatus.usage,
                    "Parse error in \(DisplayText.clean(path))\na line is not UTF-8 text"
                )
            }
            do throws(Aria2Error) {
                try settings.add(configuration: text, home: home)
            } catch {
                throw Aria2Error(status: error.status, "Parse error in \(DisplayText.clean(path))\n\(error.text)")
            }
        }
        return settings
    }

    // MARK: The run

    private static func checkList(_ plan: Aria2Plan) throws(Aria2Error) {
        guard case .file(let path) = plan.sources, path != "-" else { return }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR, access(path, R_OK) == 0 else {
            let shown = DisplayText.clean(path)
            throw .exception("Failed to open the file \(shown), cause: File not found or it is a directory")
        }
    }

    private static func download(_ plan: Aria2Plan) throws(Aria2Error) -> Int32 {
        var run = try plan.run()
        let session: Aria2Session?
        do throws(SyntaxError) {
            session = try plan.session.map { (_) throws(SyntaxError) in try Aria2Session() }
        } catch {
            throw .exception(error.description)
        }
        let hooks = Aria2Hooks(plan.settings)
        run.printer = try Aria2Printer(plan.output, session: session, hooks: hooks)
        run.verbose = plan.output.level <= .info || hooks.programs[.start] != nil
        if case .entries(let entries) = plan.sources {
            run.printer?.tell(.notice, "Downloading \(entries.count) item(s)")
        }
        let feed = Aria2Feed(plan, session: session)
        let status = GetRun.execute(run) { feeder, run in
            // In a thread that inherits the blocked signals.
            try? Aria2Deadline(plan).start()
            feed.feed(feeder, run)
        }
        if let session, session.hasBegun, let path = plan.session { self.save(session, path, run.printer) }
        // aria2 reports an interrupted run as one that left files unfinished.
        return status == ExitStatus.interrupted ? ExitStatus.unfinished : status
    }

    private static func save(_ session: Aria2Session, _ path: String, _ printer: Aria2Printer?) {
        var saved = SavedSession()
        for (transfer, directory) in session.unfinished { saved.append(transfer, in: PosixPath.absolute(directory)) }
        do throws(StorageError) {
            try AtomicFile.replace(PosixPath.absolute(path), with: saved.bytes)
            printer?.tell(.notice, "Serialized session to '\(DisplayText.clean(path))' successfully.")
        } catch {
            printer?.tell(.error, "Failed to serialize session to '\(DisplayText.clean(path))': \(error.message)")
        }
    }
}

/// Ends the process by a signal to itself: `--stop` and `--stop-with-process`.
struct Aria2Deadline {
    private let seconds: Int
    private let process: Int32

    /// Reads the settings.
    init(_ plan: Aria2Plan) {
        self.seconds = plan.settings.number("stop") ?? 0
        self.process = plan.settings.number("stop-with-process").flatMap { Int32(exactly: $0) } ?? 0
    }

    /// Starts the thread, if there is something to wait for.
    ///
    /// - Throws: ``SyntaxError`` if no thread can be created.
    func start() throws(SyntaxError) {
        guard self.seconds > 0 || self.process > 0 else { return }
        let (seconds, process) = (self.seconds, self.process)
        let clock = ContinuousClock()
        let start = clock.now
        try SystemThread.run {
            while true {
                usleep(200_000)
                if seconds > 0, clock.now - start >= .seconds(seconds) { break }
                if process > 0, kill(process, 0) != 0, errno == ESRCH { break }
            }
            kill(getpid(), SIGTERM)
        }
    }
}
