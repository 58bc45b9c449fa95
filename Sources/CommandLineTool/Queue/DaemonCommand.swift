import ArgumentParser
import Control
import Platform

/// `martlet daemon`: starts martletd.
struct DaemonCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "daemon",
        abstract: "Run the daemon martletd: a queue of transfers that outlives the program that asked for them.",
        discussion: """
            It runs in the foreground, as a service does; martlet add starts one by itself. Clients of this user reach it \
            by a Unix socket in its state directory; over TCP it asks for a token, which it makes at its first start.
            """
    )

    @OptionGroup var daemon: DaemonOptions

    @Flag(help: "Run it in the background and return when it answers.")
    var detach = false

    @Option(
        help: ArgumentHelp("The directory for files of which nothing else is said.", valueName: "dir"),
        completion: .directory
    )
    var dir: String?

    @Option(
        help: ArgumentHelp("A directory that clients over TCP may name; may be repeated.", valueName: "dir"),
        completion: .directory
    )
    var allowDir: [String] = []

    @Option(
        help: ArgumentHelp(
            "Where to listen for the RPC, or 'none'. (default: 127.0.0.1:6800)",
            valueName: "address:port"
        )
    )
    var listen: String?

    @Option(
        help: ArgumentHelp("The file with the token. (default: rpc-secret in the state directory)", valueName: "file"),
        completion: .file()
    )
    var rpcSecretFile: String?

    @Option(
        help: ArgumentHelp(
            "The token. Others can see it in the list of processes until the daemon has started.",
            valueName: "token"
        )
    )
    var rpcSecret: String?

    @Option(
        help: ArgumentHelp("A descriptor to read the token from.", valueName: "number"),
        transform: { try WholeNumber.parse($0, in: 0...65535) }
    )
    var rpcSecretFd: Int?

    @Flag(help: "Push notifications over WebSocket on loopback without a token.")
    var insecureNotifications = false

    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: ArgumentHelp("The most transfers at once.", valueName: "number"),
        transform: { try WholeNumber.parse($0, in: 1...10000) }
    )
    var maxConcurrentDownloads: Int?

    @Option(
        help: ArgumentHelp("How many ended transfers the history keeps. (default: 1000)", valueName: "number"),
        transform: { try WholeNumber.parse($0, in: 0...10_000_000) }
    )
    var maxDownloadResult: Int?

    @Option(
        help: ArgumentHelp(
            "Seconds that transfers wait while their host or the network is unreachable. (default: 86400)",
            valueName: "seconds"
        ),
        transform: { try WholeNumber.parse($0, in: 0...366 * 86400) }
    )
    var outageTimeout: Int?

    @Option(
        help: ArgumentHelp("An origin whose web pages may use the RPC; may be repeated.", valueName: "origin")
    )
    var rpcAllowOrigin: [String] = []

    @Option(
        help: ArgumentHelp("A further host name that requests may name in Host; may be repeated.", valueName: "name")
    )
    var rpcAllowHost: [String] = []

    @Option(help: ArgumentHelp("A command to run when a transfer starts.", valueName: "command"))
    var onStart: String?

    @Option(help: ArgumentHelp("A command to run when a file is there.", valueName: "command"))
    var onFinish: String?

    @Option(help: ArgumentHelp("A command to run when a transfer failed.", valueName: "command"))
    var onFailure: String?

    @Option(help: ArgumentHelp("A command to run when nothing waits or runs any more.", valueName: "command"))
    var onDrain: String?

    @Option(
        help: ArgumentHelp(
            "A program to run when a download starts, with aria2's arguments: identifier, number of files, path.",
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

    @Option(
        help: ArgumentHelp(
            "A file to which unfinished downloads are saved when the daemon stops, as aria2 does.",
            valueName: "file"
        ),
        completion: .file()
    )
    var saveSession: String?

    @Option(
        help: ArgumentHelp("Save the file of --save-session every so many seconds, too.", valueName: "seconds"),
        transform: { try WholeNumber.parse($0, in: 0...1_000_000_000) }
    )
    var saveSessionInterval: Int?

    @Option(
        help: ArgumentHelp("What is logged: debug, info, notice, warning or error.", valueName: "level"),
        completion: .list(Self.levels),
        transform: { try Choice.parse($0, among: Self.levels) }
    )
    var logLevel: String?

    private static let levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

    func execute(_ console: Console) async throws -> Int32 {
        guard [self.rpcSecret != nil, self.rpcSecretFd != nil, self.rpcSecretFile != nil].count(where: { $0 }) <= 1
        else {
            throw BadValue("give the token in one way: --rpc-secret-file, --rpc-secret or --rpc-secret-fd")
        }
        let state = try StateDirectory(self.daemon.stateDir)
        guard self.detach else {
            throw try self.replaceProcess(state)
        }
        let client = ControlClient(state)
        var launcher = DaemonLauncher(arguments: self.arguments)
        launcher.secret = try self.secret()
        let isNew = try await launcher.startIfNeeded(client)
        let process = try await client.daemon()["pid"]?.integer ?? 0
        console.print(isNew ? "martletd runs, process \(process)" : "martletd ran already, process \(process)")
        return ExitStatus.success
    }

    /// The arguments for martletd, without its state directory and token.
    var arguments: [String] {
        var words: [String] = []
        for (name, value) in [
            ("--dir", self.dir.map(PosixPath.absolute)), ("--listen", self.listen),
            ("--rpc-secret-file", self.rpcSecretFile.map(PosixPath.absolute)), ("--on-start", self.onStart),
            ("--on-finish", self.onFinish), ("--on-failure", self.onFailure), ("--on-drain", self.onDrain),
            ("--on-download-start", self.onDownloadStart), ("--on-download-pause", self.onDownloadPause),
            ("--on-download-stop", self.onDownloadStop), ("--on-download-complete", self.onDownloadComplete),
            ("--on-download-error", self.onDownloadError),
            ("--save-session", self.saveSession.map(PosixPath.absolute)),
            ("--save-session-interval", self.saveSessionInterval.map { "\($0)" }),
            ("--log-level", self.logLevel), ("--max-concurrent-downloads", self.maxConcurrentDownloads.map { "\($0)" }),
            ("--max-download-result", self.maxDownloadResult.map { "\($0)" }),
            ("--outage-timeout", self.outageTimeout.map { "\($0)" }),
        ] {
            // Joined by `=`, so that a value with a leading dash is not parsed as an option.
            if let value { words.append("\(name)=\(value)") }
        }
        for directory in self.allowDir { words.append("--allow-dir=\(PosixPath.absolute(directory))") }
        for origin in self.rpcAllowOrigin { words.append("--rpc-allow-origin=\(origin)") }
        for name in self.rpcAllowHost { words.append("--rpc-allow-host=\(name)") }
        if self.insecureNotifications { words.append("--insecure-notifications") }
        return words
    }

    /// The token for a detached daemon, which does not inherit the descriptor.
    private func secret() throws -> String? {
        if let secret = self.rpcSecret { return secret }
        guard let descriptor = self.rpcSecretFd else { return nil }
        var bytes = [UInt8](repeating: 0, count: SecretFile.limit + 2)
        var count = 0
        while count < bytes.count {
            let more = bytes.withUnsafeMutableBytes { buffer in
                read(Int32(descriptor), buffer.baseAddress.map { $0 + count }, buffer.count - count)
            }
            guard more > 0 else { break }
            count += more
        }
        return try SecretFile.token(bytes[..<count], from: "descriptor \(descriptor)")
    }

    /// Replaces this process by martletd.
    ///
    /// - Returns: The error; execv(2) does not return after success.
    private func replaceProcess(_ state: StateDirectory) throws -> ControlError {
        let program = try DaemonExecutable.find()
        var words = [program, "--state-dir=\(state.path)"] + self.arguments
        let pipe: SecretPipe? = if let secret = self.rpcSecret { try SecretPipe(secret) } else { nil }
        // The read end closes with the value, so keep the value until execv(2).
        defer { withExtendedLifetime(pipe) {} }
        let descriptor = pipe.map { Int($0.reading) } ?? self.rpcSecretFd
        if let descriptor { words.append("--rpc-secret-fd=\(descriptor)") }
        var pointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        pointers.append(nil)
        // Ignored signals stay ignored across execv(2); martletd ignores those it needs to.
        signal(SIGPIPE, SIG_DFL)
        execv(program, pointers)
        return ControlError(.unreachable, "cannot start '\(program)': \(String(cString: strerror(errno)))")
    }
}
