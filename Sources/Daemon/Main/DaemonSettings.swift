internal import Control
internal import Logging

internal import Platform

/// The validated settings from the arguments and the environment.
struct DaemonSettings: Sendable {
    /// The TCP address of the RPC.
    enum Listening: Sendable, Hashable {
        /// No TCP listener.
        case none
        /// An address; unless it is the default one, the daemon does not run without it.
        case tcp(host: String, port: Int, isDefault: Bool)
    }

    let state: StateDirectory
    let directory: String
    let allowedDirectories: [String]
    let listening: Listening
    let secretFile: String?
    let secretDescriptor: Int32?
    let allowedOrigins: [String]
    let allowedHosts: [String]
    let allowsOpenNotifications: Bool
    let options: TransferOptions
    let hooks: HookCommands
    let logLevel: Logger.Level
    let isDetached: Bool

    init(_ command: DaemonCommand) throws(ControlError) {
        self.state = try StateDirectory(command.places.stateDir)
        self.directory =
            try command.places.dir.map { path throws(ControlError) in try Self.absolute(path, "--dir") }
            ?? Self.defaultDirectory
        self.allowedDirectories = try command.places.allowDir.map { path throws(ControlError) in
            try Self.absolute(path, "--allow-dir")
        }
        self.listening = try Self.listening(command.remote.listen)
        self.secretFile = command.remote.rpcSecretFile
        self.secretDescriptor = command.remote.rpcSecretFd
        self.allowedOrigins = command.remote.rpcAllowOrigin
        self.allowedHosts = command.remote.rpcAllowHost
        self.allowsOpenNotifications = command.remote.insecureNotifications
        var options = TransferOptions()
        options[.maxConcurrentDownloads] = try Self.count(command.queue.maxConcurrentDownloads, 1, "-j")
        options[.maxDownloadResult] = try Self.count(command.queue.maxDownloadResult, 0, "--max-download-result")
        if let seconds = command.queue.outageTimeout {
            do throws(OptionProblem) {
                options[.outageTimeout] = try OptionRule.seconds.value("\(seconds)")
            } catch {
                throw ControlError(.badParameter, "--outage-timeout \(seconds) is none", remedy: "give \(error.wanted)")
            }
        }
        if let path = command.places.saveSession {
            options[.saveSession] = try Self.absolute(path, "--save-session")
        }
        options[.saveSessionInterval] = try Self.count(command.places.saveSessionInterval, 0, "--save-session-interval")
        self.options = options
        self.hooks = command.hooks.commands
        guard let level = Logger.Level(rawValue: command.log.logLevel) else {
            throw ControlError(
                .badParameter,
                "--log-level '\(command.log.logLevel)' is none",
                remedy: "use trace, debug, info, notice, warning or error"
            )
        }
        self.logLevel = level
        self.isDetached = command.log.detached
    }

    /// Parses `ADDRESS:PORT`, `[ADDRESS]:PORT`, `PORT` or `none`.
    static func listening(_ text: String?) throws(ControlError) -> Listening {
        guard let text else { return .tcp(host: "127.0.0.1", port: 6800, isDefault: true) }
        if text == "none" { return .none }
        let separator = text.lastIndex(of: ":")
        var host = separator.map { String(text[..<$0]) } ?? "127.0.0.1"
        let port = UInt16(separator.map { text[text.index(after: $0)...] } ?? text[...])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            host = ""
        }
        guard let port, !host.isEmpty else {
            throw ControlError(
                .badParameter,
                "--listen '\(text)' is no address and port",
                remedy: "write 127.0.0.1:6800, [::1]:6800, 6800, or none"
            )
        }
        return .tcp(host: host, port: Int(port), isDefault: false)
    }

    /// Reads the token from the given descriptor or file, or the state directory's own, which is created if missing.
    func secret() throws(ControlError) -> String {
        if let descriptor = self.secretDescriptor {
            var bytes = [UInt8](repeating: 0, count: SecretFile.limit + 2)
            var length = 0
            while length < bytes.count {
                let count = bytes[length...].withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                length += count
            }
            close(descriptor)
            return try SecretFile.token(bytes[..<length], from: "descriptor \(descriptor)")
        }
        if let file = self.secretFile { return try SecretFile.read(file) }
        return try SecretFile.readOrMake(self.state.secretPath)
    }

    private static func count(_ number: Int?, _ least: Int, _ name: String) throws(ControlError) -> String? {
        guard let number else { return nil }
        guard number >= least else {
            throw ControlError(.badParameter, "\(name) \(number) is too small", remedy: "give at least \(least)")
        }
        return "\(number)"
    }

    private static func absolute(_ path: String, _ name: String) throws(ControlError) -> String {
        guard !path.isEmpty else {
            throw ControlError(.badParameter, "\(name) is empty", remedy: "name a directory")
        }
        if path.hasPrefix("/") { return path }
        guard let buffer = getcwd(nil, 0) else {
            throw ControlError(.badParameter, "\(name) '\(path)' is relative and there is no working directory")
        }
        defer { free(buffer) }
        return String(cString: buffer) + "/" + path
    }

    private static var defaultDirectory: String {
        let home = StateDirectory.environment("HOME") ?? "/"
        let downloads = home + (home.hasSuffix("/") ? "" : "/") + "Downloads"
        return access(downloads + "/.", W_OK) == 0 ? downloads : home
    }
}
