// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control
import Daemon
import Logging
import TransferCore

/// `martlet daemon`, and `martletd`: runs the daemon.
struct DaemonCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "daemon",
        abstract: "Run the daemon, whose queue survives restarts and kill -9.",
        discussion: """
            Runs in the foreground until SIGTERM or SIGINT, and writes its log to standard error; martlet add starts a \
            daemon in the background if none is running. Each state directory has one daemon. Programs of the same \
            user connect to the Unix socket in it; over TCP the daemon provides aria2's JSON-RPC and XML-RPC, and \
            requires a token, which it generates at its first start. When run as martletd, martlet is this command.
            """,
        version: "martletd \(MartletVersion.text)"
    )

    @OptionGroup var daemon: DaemonOptions

    @Flag(help: "Run in the background; return when the daemon responds.")
    var detach = false

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

    @Option(
        help: ArgumentHelp(
            "Minimum level of logged messages: trace, debug, info, notice, warning, error or critical. (default: info)",
            valueName: "level"
        ),
        completion: .list(Logger.Level.allCases.map(\.rawValue)),
        transform: { try OptionSyntax.choice("", Logger.Level.allCases).parsed($0) }
    )
    var logLevel: Logger.Level?

    func execute(_ console: Console) async throws -> Int32 {
        guard self.remote.secretOptions <= 1 else {
            throw BadValue("give the token with only one of --rpc-secret-file, --rpc-secret or --rpc-secret-fd")
        }
        let settings = try self.settings()
        guard self.detach else {
            if let token = self.remote.rpcSecret { ProcessArguments.hide(token) }
            try await DaemonProcess.run(settings)
            return ExitStatus.success
        }
        let client = ControlClient(settings.state)
        var launcher = DaemonLauncher(arguments: self.arguments)
        if self.remote.hasSecretToPass { launcher.secret = try settings.token() }
        let isNew = try await launcher.startIfNeeded(client)
        let process = try await client.daemon()["pid"]?.integer ?? 0
        console.print(isNew ? "daemon started, process \(process)" : "a daemon is already running, process \(process)")
        return ExitStatus.success
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
        if self.remote.addresses.denyPrivateAddresses { settings.deniedAddresses = .private }
        do throws(BadValue) {
            settings.allowedAddresses = try self.remote.addresses.allowed()
        } catch {
            throw ControlError(.badParameter, error.description)
        }
        settings.options[.maxConcurrentDownloads] = self.queue.maxConcurrentDownloads.map { "\($0)" }
        settings.options[.maxDownloadResult] = self.queue.maxDownloadResult.map { "\($0)" }
        settings.options[.notify] = self.queue.notify
        settings.options[.outageTimeout] = self.queue.outageTimeout
        settings.options[.saveSession] = self.directories.saveSession.map(PosixPath.absolute)
        settings.options[.saveSessionInterval] = self.directories.saveSessionInterval.map { "\($0)" }
        settings.hooks = self.hooks.commands
        if let level = self.logLevel { settings.logLevel = level }
        settings.isDetached = self.detached
        return settings
    }

    /// The arguments for a daemon in another process and directory, without the state directory and the token.
    var arguments: [String] {
        // Joined by `=`, so that a value with a leading dash is not parsed as an option.
        let words = self.directories.words + self.remote.words + self.queue.words + self.hooks.words
        return words.map { "--\($0.name)=\($0.value)" }
            + (self.logLevel.map { ["--log-level=\($0.rawValue)"] } ?? [])
            + (self.remote.insecureNotifications ? ["--insecure-notifications"] : [])
            + (self.remote.addresses.denyPrivateAddresses ? ["--deny-private-addresses"] : [])
    }
}
