// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control
import Daemon
import Logging
import TransferCore
import TransferEngine

/// `martlet daemon`, and `martletd`: runs the daemon.
struct DaemonCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "daemon",
        abstract: "Run the daemon, whose queue survives restarts and kill -9.",
        discussion: """
            Runs in the foreground until SIGTERM or SIGINT, and writes its log to standard error; martlet add starts a \
            daemon in the background if none is running. A start with options remembers them in the state directory, \
            in place of those before; a start without options, also by another command, uses the remembered ones. \
            Each state directory has one daemon. Programs of the same \
            user connect to the Unix socket in it; over TCP the daemon provides aria2's JSON-RPC and XML-RPC, and \
            requires a token, which it generates at its first start. When run as martletd, martlet is this command.
            """,
        version: "martletd \(MartletVersion.text)"
    )

    @OptionGroup var daemon: DaemonOptions

    @Flag(.detach) var detach = false

    @Flag(help: ArgumentHelp("Started by a client: standard error is the log file.", visibility: .hidden))
    var detached = false

    @OptionGroup(title: "Directories")
    var directories: DirectoryOptions

    @OptionGroup(title: "RPC over TCP")
    var remote: RemoteOptions

    @OptionGroup(title: "Queue")
    var queue: QueueOptions

    @OptionGroup(title: "Commands run on events")
    var hooks: HookOptions

    @Option(.logLevel) var logLevel: Logger.Level?

    @OptionGroup(title: "Remembered options")
    var remembering: RememberingOptions

    func execute(_ console: Console) async throws -> Int32 {
        guard self.remote.secretOptions <= 1 else {
            throw SyntaxError("give the token with only one of --rpc-secret-file, --rpc-secret or --rpc-secret-fd")
        }
        let state = try StateDirectory(self.daemon.stateDir)
        if self.remembering.isGiven {
            guard !self.hasOptions, !self.detach, self.remembering.showOptions != self.remembering.forgetOptions else {
                throw SyntaxError(
                    "--show-options and --forget-options start no daemon; give one of them, and only --state-dir"
                )
            }
            return try self.remembering.perform(state, console)
        }
        try self.checkOrigins()
        guard self.detach else {
            let settings = try self.startSettings(state)
            try await DaemonProcess.run(settings)
            return ExitStatus.success
        }
        let client = ControlClient(state)
        var launcher = DaemonLauncher(arguments: self.arguments)
        if self.remote.hasSecretToPass { launcher.secret = try self.settings().token() }
        guard try await launcher.startIfNeeded(client) else {
            let process = try await client.daemon()["pid"]?.integer ?? 0
            console.print("a daemon is already running, process \(process)")
            if self.hasOptions {
                console.tell("martlet: these options do not apply to it; stop it first: martlet stop\(state.option)")
            }
            return ExitStatus.success
        }
        let daemon = try await client.daemon()
        console.print("daemon started, process \(daemon["pid"]?.integer ?? 0)")
        DaemonStart.warnings(daemon, state, remembers: !self.hasOptions).forEach(console.tell)
        return ExitStatus.success
    }

    /// Whether any option for the daemon's work was given; the state directory is where they are remembered.
    private var hasOptions: Bool { !self.arguments.isEmpty || self.remote.secretOptions > 0 }

    /// The settings for a start in this process: from its options, otherwise from the remembered ones.
    ///
    /// - Throws: `ControlError` if options cannot be used.
    func startSettings(_ state: StateDirectory) throws(ControlError) -> DaemonSettings {
        guard !self.hasOptions, let remembered = try RememberedOptions.read(state) else {
            var settings = try self.settings()
            if self.hasOptions {
                settings.optionsToRemember = RememberedOptions(
                    self.arguments,
                    hadToken: self.remote.hasSecretToPass
                )
            }
            return settings
        }
        do {
            var command = try Self.parse(remembered.arguments)
            command.daemon = self.daemon
            command.detached = self.detached
            try command.checkOrigins()
            var settings = try command.settings()
            settings.rememberedOptions = remembered
            return settings
        } catch let error as ControlError {
            throw RememberedOptions.unusable(state, error.code, error.description)
        } catch let error as SyntaxError {
            throw RememberedOptions.unusable(state, .badParameter, error.description)
        } catch {
            throw RememberedOptions.unusable(state, .badParameter, Self.message(for: error))
        }
    }

    /// Checks the origins of --rpc-allow-origin.
    ///
    /// - Throws: ``SyntaxError`` for one that matches no origin, and for `*` with notifications that need no token.
    private func checkOrigins() throws(SyntaxError) {
        for origin in self.remote.rpcAllowOrigin where origin != "*" && !RequestPolicy.isOriginPattern(origin) {
            throw SyntaxError(
                "--rpc-allow-origin: \"\(DisplayText.clean(origin))\" is not an origin; write SCHEME://HOST or "
                    + "SCHEME://HOST:PORT, such as https://app.example, or * for all"
            )
        }
        guard self.remote.insecureNotifications, self.remote.rpcAllowOrigin.contains("*") else { return }
        throw SyntaxError(
            "--rpc-allow-origin '*' and --insecure-notifications cannot be used together: every web page could read the "
                + "notifications; name the origins"
        )
    }

    /// The settings from the options and the environment.
    ///
    /// - Throws: `ControlError` with `badParameter` for a value that cannot be used.
    func settings() throws(ControlError) -> DaemonSettings {
        var settings = DaemonSettings(
            state: try StateDirectory(self.daemon.stateDir),
            directory: self.directories.dir.map(PosixPath.absolute)
        )
        settings.allowedDirectories = self.directories.allowDir.map(PosixPath.absolute)
        if let listen = self.remote.listen { settings.listening = try DaemonSettings.Listening(listen) }
        settings.secret = self.remote.secret
        settings.allowedOrigins = self.remote.rpcAllowOrigin
        settings.allowedHosts = self.remote.rpcAllowHost
        settings.allowsOpenNotifications = self.remote.insecureNotifications
        if self.remote.denyPrivateAddresses { settings.deniedAddresses = .private }
        do throws(SyntaxError) {
            settings.allowedAddresses = try self.remote.allowedAddresses()
        } catch {
            throw ControlError(.badParameter, error.description)
        }
        settings.options.set(.maxConcurrentDownloads, self.queue.maxConcurrentDownloads)
        settings.options.set(.maxDownloadResult, self.queue.maxDownloadResult)
        settings.options.set(.notify, self.queue.notify)
        settings.options.set(.outageTimeout, self.queue.outageTimeout)
        settings.options.set(.saveSession, self.directories.saveSession.map(PosixPath.absolute))
        settings.options.set(.saveSessionInterval, self.directories.saveSessionInterval)
        settings.hooks = self.hooks.commands
        if let level = self.logLevel { settings.logLevel = level }
        settings.isDetached = self.detached
        return settings
    }

    /// The arguments for a daemon in another process and directory, and for later starts, without the state directory
    /// and the token.
    var arguments: [String] {
        self.directories.arguments + self.remote.arguments + self.queue.arguments + self.hooks.arguments
            + OptionSpec.logLevel.arguments(self.logLevel)
    }
}
