// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import Control
import Daemon
import TransferEngine

/// The directories of `martlet daemon`.
struct DirectoryOptions: ParsableArguments {
    @Option(.daemonDirectory) var dir: String?

    @Option(.allowDir) var allowDir: [String] = []

    @Option(.saveSession) var saveSession: String?

    @Option(.saveSessionInterval) var saveSessionInterval: Int?

    /// The options for another process: paths are absolute.
    var arguments: [String] {
        OptionSpec.daemonDirectory.arguments(self.dir.map(PosixPath.absolute))
            + OptionSpec.saveSession.arguments(self.saveSession.map(PosixPath.absolute))
            + OptionSpec.saveSessionInterval.arguments(self.saveSessionInterval)
            + OptionSpec.allowDir.arguments(self.allowDir.map(PosixPath.absolute))
    }
}

/// Options for access over TCP.
struct RemoteOptions: ParsableArguments, AddressOptions {
    @Option(.rpcListen) var listen: String?

    @Option(.rpcSecretFile) var rpcSecretFile: String?

    @Option(.rpcSecret) var rpcSecret: String?

    @Option(.rpcSecretFd) var rpcSecretFd: Int?

    @Option(.rpcAllowOrigin) var rpcAllowOrigin: [String] = []

    @Option(.rpcAllowHost) var rpcAllowHost: [String] = []

    @Flag(.insecureNotifications) var insecureNotifications = false

    @Flag(.denyPrivateAddresses) var denyPrivateAddresses = false
    @Option(.allowAddresses) var allowAddresses: [String] = []

    /// The location of the token.
    var secret: DaemonSettings.Secret {
        if let token = self.rpcSecret { return .token(token) }
        if let descriptor = self.rpcSecretFd { return .descriptor(Int32(descriptor)) }
        return self.rpcSecretFile.map { .file(PosixPath.absolute($0)) } ?? .own
    }

    /// The number of options that name a token.
    var secretOptions: Int {
        [self.rpcSecret != nil, self.rpcSecretFd != nil, self.rpcSecretFile != nil].count(where: { $0 })
    }

    /// Whether another process must get the token itself: from this process's arguments or descriptors.
    var hasSecretToPass: Bool { self.rpcSecret != nil || self.rpcSecretFd != nil }

    /// The options for another process; never the token.
    var arguments: [String] {
        OptionSpec.rpcListen.arguments(self.listen)
            + OptionSpec.rpcSecretFile.arguments(self.rpcSecretFile.map(PosixPath.absolute))
            + OptionSpec.allowAddresses.arguments(self.allowAddresses)
            + OptionSpec.rpcAllowOrigin.arguments(self.rpcAllowOrigin)
            + OptionSpec.rpcAllowHost.arguments(self.rpcAllowHost)
            + OptionSpec.insecureNotifications.arguments(self.insecureNotifications)
            + OptionSpec.denyPrivateAddresses.arguments(self.denyPrivateAddresses)
    }
}

/// Initial settings of the queue, unless settings were stored while the daemon ran.
struct QueueOptions: ParsableArguments {
    @Option(.maxConcurrentDownloads) var maxConcurrentDownloads: Int?

    @Option(.maxDownloadResult) var maxDownloadResult: Int?

    @Option(
        .outageTimeout.described(
            "Seconds to wait while the host or the network is unreachable.",
            standard: "86400, or the last setting",
            details: "0 treats an outage like any other failure."
        )
    )
    var outageTimeout: Duration?
    @Option(.notify) var notify: String?

    /// The options for another process.
    var arguments: [String] {
        OptionSpec.notify.arguments(self.notify)
            + OptionSpec.maxConcurrentDownloads.arguments(self.maxConcurrentDownloads)
            + OptionSpec.maxDownloadResult.arguments(self.maxDownloadResult)
            + OptionSpec.outageTimeout.arguments(self.outageTimeout)
    }
}

/// The commands that the daemon runs on events.
struct HookOptions: ParsableArguments {
    @Option(.onStart) var onStart: String?

    @Option(.onFinish) var onFinish: String?

    @Option(.onFailure) var onFailure: String?

    @Option(.onDrain) var onDrain: String?

    @Option(.onDownloadStart) var onDownloadStart: String?

    @Option(.onDownloadPause) var onDownloadPause: String?

    @Option(.onDownloadStop) var onDownloadStop: String?

    @Option(.onDownloadComplete) var onDownloadComplete: String?

    @Option(.onDownloadError) var onDownloadError: String?

    private var own: [(hook: Hook, spec: OptionSpec<String>, command: String?)] {
        [
            (.start, .onStart, self.onStart), (.finish, .onFinish, self.onFinish),
            (.failure, .onFailure, self.onFailure), (.drain, .onDrain, self.onDrain),
        ]
    }

    private var aria2: [(hook: Aria2Hook, spec: OptionSpec<String>, command: String?)] {
        [
            (.start, .onDownloadStart, self.onDownloadStart), (.pause, .onDownloadPause, self.onDownloadPause),
            (.stop, .onDownloadStop, self.onDownloadStop), (.complete, .onDownloadComplete, self.onDownloadComplete),
            (.error, .onDownloadError, self.onDownloadError),
        ]
    }

    /// The commands by their events.
    var commands: HookCommands {
        var commands = HookCommands()
        for (hook, _, command) in self.own { commands.own[hook] = command }
        for (hook, _, command) in self.aria2 { commands.aria2[hook] = command }
        return commands
    }

    /// The options for another process.
    var arguments: [String] {
        self.own.flatMap { _, spec, command in spec.arguments(command) }
            + self.aria2.flatMap { _, spec, command in spec.arguments(command) }
    }
}
