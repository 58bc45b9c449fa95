// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import Logging
import Platform
import TransferCore

/// `aria2c --enable-rpc`: the daemon with aria2's settings.
///
/// Like aria2, it begins with an empty queue, and knows only what `--input-file` and the URIs name. Its state directory is
/// `aria2c-PORT` below that of `martlet daemon`, whose queue it does not touch.
enum Aria2Service {
    /// The port of aria2's RPC.
    static let port = 6800

    /// Runs the daemon in this process until a signal or a client stops it.
    ///
    /// - Returns: The exit status.
    static func run(_ plan: Aria2Plan) -> Int32 {
        signal(SIGPIPE, SIG_IGN)
        let console = Console()
        return QueueRun.wait {
            do {
                let settings = try self.settings(plan)
                try Aria2Deadline(plan).start()
                try self.redirect(plan.output)
                try self.forget(settings.state)
                try self.tell(plan, settings)
                let adding = Task { await self.add(plan, ControlClient(settings.state), console) }
                defer { adding.cancel() }
                try await DaemonProcess.run(settings)
                return ExitStatus.success
            } catch let error as ControlError {
                console.tell("aria2c: \(error.description)")
                return error.code == .badParameter ? ExitStatus.usage : 1
            } catch {
                console.tell("aria2c: \(error)")
                return 1
            }
        }
    }

    // MARK: Settings

    /// The settings of the daemon.
    ///
    /// - Throws: `ControlError` with `badParameter` for options that the daemon does not have.
    static func settings(_ plan: Aria2Plan) throws(ControlError) -> DaemonSettings {
        let given = plan.settings
        let port = given.number("rpc-listen-port") ?? self.port
        for (name, isRefused) in [
            ("ca-certificate", given.text("ca-certificate").map { !$0.isEmpty && !self.isOfSystem($0) } ?? false),
            ("check-certificate", given.flag("check-certificate") == false),
        ] where isRefused {
            throw ControlError(
                .badParameter,
                "--\(name) is not supported together with --enable-rpc",
                remedy: "leave it out; the daemon trusts the system's certificates, to which others can be added"
            )
        }
        let directory = PosixPath.absolute(plan.options[.dir] ?? ".")
        var settings = DaemonSettings(state: try self.state(port: port), directory: directory)
        settings.allowedDirectories = (given.values["allow-dir"] ?? []).map { PosixPath.absolute($0) }
        settings.allowedHosts = given.values["rpc-allow-host"] ?? []
        let isOpen = given.flag("rpc-listen-all") ?? false
        settings.listening = .tcp(host: isOpen ? "0.0.0.0" : "127.0.0.1", port: port, isDefault: false)
        if let descriptor = given.number("rpc-secret-fd") {
            settings.secret = .descriptor(Int32(clamping: descriptor))
        } else if let token = self.token(given) {
            settings.secret = .token(token)
        }
        if given.flag("rpc-allow-origin-all") == true { settings.allowedOrigins = ["*", "http://*", "https://*"] }
        settings.options = plan.options.merging(plan.queue)
        settings.options.remove([.dir, .out, .gid, .pause, .checksum, .dryRun])
        if let path = plan.session { settings.options[.saveSession] = PosixPath.absolute(path) }
        settings.hooks.aria2 = Aria2Hooks(given).programs
        if let level = given.text("log-level") {
            settings.logLevel = level == "warn" ? .warning : Logger.Level(rawValue: level) ?? .info
        }
        return settings
    }

    /// The token: `--rpc-secret`, or the password of Basic authentication.
    private static func token(_ given: Aria2Settings) -> String? {
        [given.text("rpc-secret"), given.text("rpc-passwd")].compactMap(\.self).first { !$0.isEmpty }
    }

    private static func isOfSystem(_ path: String) -> Bool {
        ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"].contains(path)
    }

    /// The state directory of the daemon at a port.
    static func state(port: Int) throws(ControlError) -> StateDirectory {
        try StateDirectory(try StateDirectory().path + "/aria2c-\(port)")
    }

    /// Deletes the queue that an earlier process has left.
    private static func forget(_ state: StateDirectory) throws(ControlError) {
        try state.make()
        // A process that is starting has the lock while it opens the queue.
        guard let lock = try DaemonLock.take(state.lockPath) else { throw self.isRunning(state) }
        defer { lock.release() }
        for suffix in ["", "-wal", "-shm", "-state"] { unlink(state.databasePath + suffix) }
    }

    private static func isRunning(_ state: StateDirectory) -> ControlError {
        let holder = DaemonLock.holder(of: state.lockPath).map { " (process \($0))" } ?? ""
        return ControlError(
            .storage,
            "aria2c is running at this port already\(holder)",
            remedy: "use it, stop it, or choose another port with --rpc-listen-port"
        )
    }

    /// Sends the log to the file of `--log`.
    private static func redirect(_ output: Aria2Output) throws(ControlError) {
        guard let path = output.log else {
            if output.isQuiet { Self.replace(STDERR_FILENO, by: "/dev/null") }
            return
        }
        guard path != "-" else {
            dup2(STDOUT_FILENO, STDERR_FILENO)
            return
        }
        guard Self.replace(STDERR_FILENO, by: path) else {
            throw ControlError(.storage, "the log file '\(path)' cannot be opened: \(String(cString: strerror(errno)))")
        }
    }

    @discardableResult
    private static func replace(_ descriptor: Int32, by path: String) -> Bool {
        let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { return false }
        defer { close(file) }
        return dup2(file, descriptor) >= 0
    }

    /// Says where the RPC listens, and how it is protected.
    private static func tell(_ plan: Aria2Plan, _ settings: DaemonSettings) throws(ControlError) {
        guard case .tcp(let host, let port, _) = settings.listening else { return }
        let printer: Aria2Printer
        do throws(Aria2Error) {
            var output = plan.output
            output.log = nil
            output.showsReadout = false
            printer = try Aria2Printer(output)
        } catch {
            throw ControlError(.storage, error.text)
        }
        for warning in plan.warnings { printer.tell(.warn, warning) }
        printer.tell(.notice, "RPC: listening on TCP port \(port) of \(host)")
        if host != "127.0.0.1" {
            printer.tell(
                .warn,
                "--rpc-listen-all: every machine that reaches this one can try tokens, which are not encrypted"
            )
        }
        if case .own = settings.secret {
            printer.tell(
                .warn,
                "there is no --rpc-secret: aria2 would obey every program and user of this machine. Clients have to give "
                    + "the generated token in \(settings.state.secretPath), or start aria2c with --rpc-secret=TOKEN"
            )
        }
    }

    // MARK: The first files

    /// Adds the files of the command line and of the input file when the daemon responds.
    private static func add(_ plan: Aria2Plan, _ client: ControlClient, _ console: Console) async {
        // The daemon has the other options as its defaults.
        var first = AddPlan()
        for name in [OptionName.checksum, .dryRun, .gid] { first.options[name] = plan.options[name] }
        first.options[.nameFrom] = "last"
        first.isPaused = plan.options[.pause] == "true"
        first.isQuiet = true
        first.reader = .aria2cDaemon
        switch plan.sources {
        case .entries(let entries):
            guard !entries.isEmpty else { return }
            first.transfers = entries.map { first.transfer($0) }
        case .file(let path): first.inputFile = path
        }
        while !Task.isCancelled {
            do throws(ControlError) {
                _ = try await client.daemon()
                break
            } catch {
                guard (try? await Task.sleep(for: .milliseconds(50))) != nil else { return }
            }
        }
        do {
            var run = AddRun(first, try AddAccess(AccessPlan()), client, console)
            _ = try await run.execute()
        } catch {
            console.tell("aria2c: \(error)")
        }
    }

    // MARK: In the background

    /// Starts the same command in the background.
    ///
    /// With the RPC, it waits until the daemon responds.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - given: The settings of the command line; the configuration file is read again.
    /// - Returns: The exit status.
    /// - Throws: ``Aria2Error`` for settings that cannot be used.
    static func detach(_ plan: Aria2Plan, _ given: Aria2Settings) throws(Aria2Error) -> Int32 {
        let state: StateDirectory
        do throws(ControlError) {
            state = try self.state(port: plan.settings.number("rpc-listen-port") ?? self.port)
            if plan.isDaemon { _ = try self.settings(plan) }
        } catch {
            throw Aria2Error(status: error.code == .badParameter ? ExitStatus.usage : 1, "aria2c: \(error.description)")
        }
        var launcher = DaemonLauncher(arguments: ["--daemon=false"] + given.words)
        launcher.ownCommand = Aria2Command.name
        if plan.isDaemon { launcher.secret = self.token(given) }
        let (starter, isAwaited) = (launcher, plan.isDaemon)
        let console = Console()
        return QueueRun.wait {
            do throws(ControlError) {
                if isAwaited {
                    guard DaemonLock.holder(of: state.lockPath) == nil else { throw self.isRunning(state) }
                    try await starter.start(ControlClient(state))
                } else {
                    try starter.startUnattended()
                }
                return ExitStatus.success
            } catch {
                console.tell("aria2c: \(error.description)")
                return 1
            }
        }
    }
}
