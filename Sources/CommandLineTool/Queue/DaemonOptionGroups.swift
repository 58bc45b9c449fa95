// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import Control
import Daemon
import TransferEngine

/// An option without its dashes, and its value.
typealias OptionWord = (name: String, value: String)

/// The directories of `martlet daemon`.
struct DirectoryOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Default directory for downloads. (default: $XDG_DOWNLOAD_DIR, else ~/Downloads)",
            valueName: "dir"
        ),
        completion: .directory
    )
    var dir: String?

    @Option(
        help: ArgumentHelp(
            "Additional directory in which TCP clients may store files; may be repeated.",
            discussion: """
                Otherwise their files must be inside --dir. Hidden files below these directories are refused, too. \
                Clients of the socket may use any directory.
                """,
            valueName: "dir"
        ),
        completion: .directory
    )
    var allowDir: [String] = []

    @Option(
        help: ArgumentHelp(
            "File to which unfinished downloads are saved when the daemon stops, as aria2 does.",
            discussion: "The queue itself is always stored. aria2c -i and martlet get -i can read the file.",
            valueName: "file"
        ),
        completion: .file()
    )
    var saveSession: String?

    @Option(
        help: ArgumentHelp("Also save the --save-session file at this interval.", valueName: "seconds"),
        transform: { try OptionSyntax.number(0...1_000_000_000).parsed($0) }
    )
    var saveSessionInterval: Int?

    /// The options with values, for another process: paths are absolute.
    var words: [OptionWord] {
        let single = [
            ("dir", self.dir.map(PosixPath.absolute)), ("save-session", self.saveSession.map(PosixPath.absolute)),
            ("save-session-interval", self.saveSessionInterval.map { "\($0)" }),
        ]
        return single.compactMap { name, value in value.map { (name, $0) } }
            + self.allowDir.map { ("allow-dir", PosixPath.absolute($0)) }
    }
}

/// Options for access over TCP.
struct RemoteOptions: ParsableArguments, AddressOptions {
    @Option(
        help: ArgumentHelp(
            "Address of the RPC server, a port on 127.0.0.1, or none. (default: 127.0.0.1:6800)",
            discussion: """
                If the default port is in use, the daemon logs a warning and runs without TCP. On non-loopback \
                addresses, anyone who can connect may try tokens, and tokens are sent unencrypted.
                """,
            valueName: "address:port"
        )
    )
    var listen: String?

    @Option(
        help: ArgumentHelp(
            "File with the token, mode 0600. (default: rpc-secret in the state directory)",
            valueName: "file"
        ),
        completion: .file()
    )
    var rpcSecretFile: String?

    @Option(
        help: ArgumentHelp(
            "The token. Visible to other users in the process list until the daemon has started.",
            valueName: "token"
        )
    )
    var rpcSecret: String?

    @Option(
        help: ArgumentHelp("File descriptor from which to read the token.", valueName: "number"),
        transform: { try OptionSyntax.number(0...65535).parsed($0) }
    )
    var rpcSecretFd: Int?

    @Option(
        help: ArgumentHelp(
            "Origin whose web pages may use the RPC, such as https://example.org, or '*' for all; may be repeated.",
            discussion: "The pages need the token, too.",
            valueName: "origin"
        )
    )
    var rpcAllowOrigin: [String] = []

    @Option(
        help: ArgumentHelp("Additional host name to accept in the Host field; may be repeated.", valueName: "name")
    )
    var rpcAllowHost: [String] = []

    @Flag(help: "Send aria2's notifications to WebSockets on loopback without a token, as aria2 does.")
    var insecureNotifications = false

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

    /// The options with values, for another process; never the token.
    var words: [OptionWord] {
        let single = [
            ("listen", self.listen), ("rpc-secret-file", self.rpcSecretFile.map(PosixPath.absolute)),
        ]
        return single.compactMap { name, value in value.map { (name, $0) } }
            + self.allowAddresses.map { ("allow-addresses", $0) }
            + self.rpcAllowOrigin.map { ("rpc-allow-origin", $0) } + self.rpcAllowHost.map { ("rpc-allow-host", $0) }
    }
}

/// Initial settings of the queue, unless settings were stored while the daemon ran.
struct QueueOptions: ParsableArguments {
    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: ArgumentHelp("Maximum concurrent transfers. (default: 5, or the last setting)", valueName: "number"),
        transform: { try OptionSyntax.number(1...10000).parsed($0) }
    )
    var maxConcurrentDownloads: Int?

    @Option(
        help: ArgumentHelp(
            "Maximum ended transfers in the history. (default: 1000, or the last setting)",
            valueName: "number"
        ),
        transform: { try OptionSyntax.number(0...10_000_000).parsed($0) }
    )
    var maxDownloadResult: Int?

    @Option(
        help: ArgumentHelp(
            "Seconds to wait while the host or the network is unreachable. (default: 86400, or the last setting)",
            discussion: "0 treats an outage like any other failure.",
            valueName: "seconds"
        ),
        transform: { text in
            _ = try OptionSyntax.seconds.parsed(text)
            return text.hasSuffix("s") ? String(text.dropLast()) : text
        }
    )
    var outageTimeout: String?

    @Option(
        help: ArgumentHelp(
            "Desktop notifications: finished, failed and done, separated by commas. (default: none, or the last setting)",
            discussion: """
                done is when no transfer waits or runs any more. The notifications are for transfers of the queue; \
                background sessions have their own setting. They are posted on the D-Bus session bus, if there is one.
                """,
            valueName: "events"
        ),
        completion: .list(TransferNotification.allCases.map(\.word)),
        transform: { try NotificationWords.parse($0) }
    )
    var notify: String?

    /// The options with values, for another process.
    var words: [OptionWord] {
        [
            ("notify", self.notify), ("max-concurrent-downloads", self.maxConcurrentDownloads.map { "\($0)" }),
            ("max-download-result", self.maxDownloadResult.map { "\($0)" }), ("outage-timeout", self.outageTimeout),
        ]
        .compactMap { name, value in value.map { (name, $0) } }
    }
}

/// The commands that the daemon runs on events.
struct HookOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Command to run when a transfer starts.",
            discussion: """
                Each of these four commands is run with /bin/sh -c, with the transfer in MARTLET_ID, _STATE, _URL, \
                _PATH, _DIR, _BYTES, _TOTAL, _ERROR_CODE, _ERROR and _SESSION, the event in MARTLET_EVENT, and all as \
                JSON on standard input. MARTLET_KIND is download or upload; the file of an upload is in \
                MARTLET_SOURCE. Transfers do not wait for commands; at most four commands run at once, each for at \
                most five minutes.
                """,
            valueName: "command"
        )
    )
    var onStart: String?

    @Option(help: ArgumentHelp("Command to run when a download or upload has finished.", valueName: "command"))
    var onFinish: String?

    @Option(help: ArgumentHelp("Command to run when a transfer has failed.", valueName: "command"))
    var onFailure: String?

    @Option(help: ArgumentHelp("Command to run when no transfer is waiting or running any more.", valueName: "command"))
    var onDrain: String?

    @Option(
        help: ArgumentHelp(
            "Program to run when a download starts, with aria2's arguments: id, number of files, path.",
            valueName: "program"
        )
    )
    var onDownloadStart: String?

    @Option(help: ArgumentHelp("Program to run when a download is paused.", valueName: "program"))
    var onDownloadPause: String?

    @Option(
        help: ArgumentHelp(
            "Program to run when a download has ended, unless one of the next two options applies.",
            valueName: "program"
        )
    )
    var onDownloadStop: String?

    @Option(help: ArgumentHelp("Program to run when a download has finished.", valueName: "program"))
    var onDownloadComplete: String?

    @Option(help: ArgumentHelp("Program to run when a download has failed.", valueName: "program"))
    var onDownloadError: String?

    private var own: [(hook: Hook, name: String, command: String?)] {
        [
            (.start, "on-start", self.onStart), (.finish, "on-finish", self.onFinish),
            (.failure, "on-failure", self.onFailure), (.drain, "on-drain", self.onDrain),
        ]
    }

    private var aria2: [(hook: Aria2Hook, command: String?)] {
        [
            (.start, self.onDownloadStart), (.pause, self.onDownloadPause), (.stop, self.onDownloadStop),
            (.complete, self.onDownloadComplete), (.error, self.onDownloadError),
        ]
    }

    /// The commands by their events.
    var commands: HookCommands {
        var commands = HookCommands()
        for (hook, _, command) in self.own { commands.own[hook] = command }
        for (hook, command) in self.aria2 { commands.aria2[hook] = command }
        return commands
    }

    /// The options with values, for another process.
    var words: [OptionWord] {
        self.own.compactMap { _, name, command in command.map { (name, $0) } }
            + self.aria2.compactMap { hook, command in command.map { (hook.rawValue, $0) } }
    }
}
