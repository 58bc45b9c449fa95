package import ArgumentParser
internal import Control
internal import TransferCore

/// The arguments of `martletd`.
///
/// `martlet daemon` takes the same ones and replaces itself with this program.
package struct DaemonCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "martletd",
        abstract: "Carries transfers on when the programs that asked for them are gone.",
        discussion: """
            It runs in the foreground until SIGTERM or SIGINT, and writes its log on standard error. There is one for each \
            state directory; programs of the same user reach it by the socket in there. Over TCP it speaks aria2's \
            JSON-RPC and XML-RPC, and takes a token: the one in the file rpc-secret in the state directory, unless \
            another is named.
            """,
        version: "martletd \(MartletVersion.text)"
    )

    @OptionGroup(title: "Where things lie")
    var places: PlaceOptions

    @OptionGroup(title: "The RPC over TCP")
    var remote: RemoteOptions

    @OptionGroup(title: "The queue")
    var queue: QueueOptions

    @OptionGroup(title: "Commands that are run")
    var hooks: HookOptions

    @OptionGroup(title: "The log")
    var log: LogOptions

    package init() {}

    package mutating func run() async throws {
        do {
            try await DaemonProcess.run(DaemonSettings(self))
        } catch let error as ControlError {
            throw DaemonFailure(error)
        }
    }
}

/// An error with the description that ArgumentParser prints.
struct DaemonFailure: Error, CustomStringConvertible {
    let description: String

    init(_ error: ControlError) { self.description = "martletd: \(error.description)" }
}

/// Options for the state directory and the directories of files.
struct PlaceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The directory of its database, its socket and its token.",
            discussion: "By default $MARTLET_STATE_DIR, else $XDG_STATE_HOME/martlet, else ~/.local/state/martlet.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var stateDir: String?

    @Option(
        help: ArgumentHelp(
            "The directory for files whose transfer names none.",
            discussion: "By default ~/Downloads where that is there, else the home directory.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var dir: String?

    @Option(
        help: ArgumentHelp(
            "A further directory that clients over TCP may name; may be repeated.",
            discussion: "Without any, what they name must lie inside --dir. Programs on the socket may name any.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var allowDir: [String] = []

    @Option(
        help: ArgumentHelp(
            "A file to which unfinished downloads are saved when the daemon stops, as aria2 does.",
            discussion: "The queue itself is always stored. aria2c -i and martlet get -i read the file.",
            valueName: "file"
        ),
        completion: .file()
    )
    var saveSession: String?

    @Option(
        help: ArgumentHelp("Save the file of --save-session every so many seconds, too.", valueName: "seconds")
    )
    var saveSessionInterval: Int?
}

/// Options for access over TCP.
struct RemoteOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where to listen: ADDRESS:PORT, a port alone on 127.0.0.1, or none. (default: 127.0.0.1:6800)",
            discussion: """
                Where nothing is said and the port is taken, the daemon says so and goes on without. An address that is not \
                loopback lets everyone try who reaches it: the token goes over the network as it is.
                """,
            valueName: "address"
        )
    )
    var listen: String?

    @Option(
        help: ArgumentHelp("A file with the token; mode 0600.", valueName: "file"),
        completion: .file()
    )
    var rpcSecretFile: String?

    @Option(help: ArgumentHelp("An open descriptor to read the token from.", visibility: .hidden))
    var rpcSecretFd: Int32?

    @Option(
        help: ArgumentHelp(
            "An origin whose web pages may use the RPC, such as https://example.org; may be repeated.",
            valueName: "origin"
        )
    )
    var rpcAllowOrigin: [String] = []

    @Option(
        help: ArgumentHelp(
            "A further host name that requests may name in Host; may be repeated.",
            valueName: "name"
        )
    )
    var rpcAllowHost: [String] = []

    @Flag(help: "Send aria2's notifications on loopback to WebSockets that gave no token, as aria2 does.")
    var insecureNotifications = false
}

/// Initial settings of the queue, unless settings were stored while it ran.
struct QueueOptions: ParsableArguments {
    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: ArgumentHelp("The most downloads at once. (default: 5, or what was set last)", valueName: "number")
    )
    var maxConcurrentDownloads: Int?

    @Option(
        help: ArgumentHelp(
            "How many ended transfers stay in the history. (default: 1000, or what was set last)",
            valueName: "number"
        )
    )
    var maxDownloadResult: Int?

    @Option(
        help: ArgumentHelp(
            "Seconds that transfers wait while their host or the network is unreachable. (default: 86400, or what was set last)",
            discussion: "0 counts an outage as any other failure.",
            valueName: "seconds"
        )
    )
    var outageTimeout: Double?
}

/// The commands that the daemon runs.
struct HookOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Run when a transfer begins.",
            discussion: """
                Each of these is given to /bin/sh -c, with the transfer in MARTLET_ID, _STATE, _URL, _PATH, _DIR, _BYTES, \
                _TOTAL, _ERROR_CODE, _ERROR and _SESSION, what happened in MARTLET_EVENT, and all of it as JSON on standard \
                input. MARTLET_KIND is download or upload; an upload has its file in MARTLET_SOURCE. Nothing waits for it: four run at once, for at most five minutes each.
                """,
            valueName: "command"
        )
    )
    var onStart: String?

    @Option(help: ArgumentHelp("Run when a file is there, or what is sent has arrived.", valueName: "command"))
    var onFinish: String?

    @Option(help: ArgumentHelp("Run when a transfer has failed.", valueName: "command"))
    var onFailure: String?

    @Option(help: ArgumentHelp("Run when nothing waits or runs any more.", valueName: "command"))
    var onDrain: String?

    @Option(
        help: ArgumentHelp(
            "A program to run when a download starts, with aria2's arguments.",
            discussion: "They are the identifier, the number of files, and the path of the first file.",
            valueName: "program"
        )
    )
    var onDownloadStart: String?

    @Option(help: ArgumentHelp("The same when a download was paused.", valueName: "program"))
    var onDownloadPause: String?

    @Option(
        help: ArgumentHelp(
            "The same when a download finished, failed or was removed, unless one of the next two is run.",
            valueName: "program"
        )
    )
    var onDownloadStop: String?

    @Option(help: ArgumentHelp("The same when a download finished.", valueName: "program"))
    var onDownloadComplete: String?

    @Option(help: ArgumentHelp("The same when a download failed.", valueName: "program"))
    var onDownloadError: String?

    var commands: HookCommands {
        let own: [(Hook, String?)] = [
            (.start, self.onStart), (.finish, self.onFinish), (.failure, self.onFailure), (.drain, self.onDrain),
        ]
        let aria2: [(Aria2Hook, String?)] = [
            (.start, self.onDownloadStart), (.pause, self.onDownloadPause), (.stop, self.onDownloadStop),
            (.complete, self.onDownloadComplete), (.error, self.onDownloadError),
        ]
        return HookCommands(
            Dictionary(uniqueKeysWithValues: own.compactMap { hook, command in command.map { (hook, $0) } }),
            aria2: Dictionary(uniqueKeysWithValues: aria2.compactMap { hook, command in command.map { (hook, $0) } })
        )
    }
}

/// Options for the log.
struct LogOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The least important messages to write: trace, debug, info, notice, warning or error. (default: info)",
            valueName: "level"
        )
    )
    var logLevel: String = "info"

    @Flag(help: ArgumentHelp("It was started by a client: standard error is the log file.", visibility: .hidden))
    var detached = false
}
