// SPDX-License-Identifier: Apache-2.0
internal import Platform

internal import Synchronization

/// Starts the daemon of a state directory if none is running.
///
/// Any number of programs may do so concurrently: the daemon's lock admits one daemon, and the other programs connect
/// to it.
package struct DaemonLauncher: Sendable {
    /// The daemon's arguments in addition to its state directory, such as `--dir`; they must not contain secrets.
    package var arguments: [String]
    /// The token that the daemon requires for RPC over TCP; it is passed through a pipe.
    package var secret: String?
    /// The timeout for the daemon's first response.
    package var patience: Duration = .seconds(15)

    /// The subcommand of the running program that becomes the daemon, with all arguments, instead of `martlet daemon`.
    ///
    /// It then starts in the working directory, and determines its state directory itself.
    package var ownCommand: String?

    private let executable: String?

    /// The daemons started here; they must be reaped, or they would remain as zombies.
    private static let children = Mutex<[DetachedProcess]>([])

    /// Creates a launcher.
    ///
    /// - Parameters:
    ///   - executable: The program's path, or `nil` to find it, see ``DaemonExecutable``.
    ///   - arguments: The daemon's arguments in addition to its state directory.
    package init(executable: String? = nil, arguments: [String] = []) {
        self.executable = executable
        self.arguments = arguments
    }

    /// Checks whether a daemon responds, and starts one if not.
    ///
    /// - Parameters:
    ///   - client: A client of the state directory.
    ///   - started: A daemon that was just started and may not respond yet.
    /// - Returns: Whether a daemon was started.
    /// - Throws: ``ControlError`` with `notInstalled` if there is no executable; `unreachable` and the end of its log if it does not start; `protocolMismatch` if
    ///   another version is running; `forbidden` if the directory does not belong to the user.
    @discardableResult
    package func startIfNeeded(
        _ client: ControlClient,
        after started: StartedDaemon? = nil
    ) async throws(ControlError) -> Bool {
        if try await self.answers(client) { return false }
        try await self.start(client, after: started)
        return true
    }

    /// Starts a daemon unless one has the state directory, and does not wait for it.
    ///
    /// - Returns: The daemon; `nil` if there is one, or if it could not be started, which ``startIfNeeded(_:after:)``
    ///   reports.
    package func startDetached(_ state: StateDirectory) -> StartedDaemon? {
        guard DaemonLock.holder(of: state.lockPath) == nil, let program = try? self.program(),
            let child = try? self.spawn(program, state)
        else { return nil }
        Self.keep(child)
        return StartedDaemon(process: child)
    }

    private func program() throws(ControlError) -> String {
        if self.ownCommand != nil, let own = DaemonExecutable.own() { return own }
        if let named = self.executable { return try DaemonExecutable.check(named) }
        return try DaemonExecutable.find()
    }

    /// Starts a daemon and waits until one responds.
    ///
    /// - Throws: ``ControlError`` like ``startIfNeeded(_:)``.
    package func start(_ client: ControlClient, after started: StartedDaemon? = nil) async throws(ControlError) {
        let state = client.state
        let program = try self.program()
        try state.make()
        let clock = ContinuousClock()
        let deadline = clock.now + self.patience
        let log = LogTail(state.logPath)
        var child: DetachedProcess? = if let started { started.process } else { try self.spawn(program, state) }
        var again = clock.now
        while clock.now < deadline {
            if try await self.answers(client) {
                if let child { Self.keep(child) }
                return
            }
            if let running = child {
                switch running.standing() {
                case .running, .unknown: break
                case .exited(0):
                    // Another daemon has the lock: it is starting or stopping.
                    child = nil
                    again = clock.now + .seconds(1)
                case .exited(let status):
                    throw ControlError(
                        .unreachable,
                        "the daemon ended as soon as it was started (status \(status))\(log.text())",
                        remedy: "fix that, or run martlet daemon in the foreground to see more"
                    )
                }
            } else if clock.now > again {
                child = try self.spawn(program, state)
            }
            // In a cancelled task `sleep` throws at once, and the loop would spin.
            guard (try? await Task.sleep(for: .milliseconds(20))) != nil else {
                if let child { Self.keep(child) }
                throw ControlError(.unreachable, "the start of the daemon was not waited for")
            }
        }
        if let child { Self.keep(child) }
        let holder = DaemonLock.holder(of: state.lockPath).map { "; process \($0) has the directory" } ?? ""
        throw ControlError(
            .unreachable,
            "the daemon does not answer on '\(state.socketPath)'\(holder)\(log.text())",
            remedy: "look at its log \(state.logPath)"
        )
    }

    private func answers(_ client: ControlClient) async throws(ControlError) -> Bool {
        do throws(ControlError) {
            _ = try await client.daemon()
            return true
        } catch {
            guard error.code == .notRunning || error.code == .unreachable || error.code == .stopping else {
                throw error
            }
            return false
        }
    }

    private func spawn(_ program: String, _ state: StateDirectory) throws(ControlError) -> DetachedProcess {
        var words = DaemonExecutable.words(program) + ["--state-dir", state.path, "--detached"]
        var directory = StateDirectory.environment("HOME") ?? "/"
        if let own = self.ownCommand {
            words = Self.words(program, own)
            directory = PosixPath.absolute(".")
        }
        if !Self.isDirectory(directory) { directory = "/" }
        guard let secret = self.secret else {
            return try .start(words + self.arguments, log: state.logPath, directory: directory)
        }
        let pipe = try SecretPipe(secret)
        // Before its own arguments, which may end with operands.
        words +=
            self.ownCommand == nil ? self.arguments + ["--rpc-secret-fd", "3"] : ["--rpc-secret-fd=3"] + self.arguments
        return try .start(words, log: state.logPath, directory: directory, inherited: pipe.reading)
    }

    private static func words(_ program: String, _ own: String) -> [String] {
        program.split(separator: "/").last.map(String.init) == own ? [program] : [program, own]
    }

    /// Starts ``ownCommand`` in the background and does not wait for it; its output is discarded.
    ///
    /// - Throws: ``ControlError`` with `unreachable` if it cannot be started.
    package func startUnattended() throws(ControlError) {
        guard let own = self.ownCommand else { return }
        Self.keep(
            try .start(
                Self.words(try self.program(), own) + self.arguments,
                log: "/dev/null",
                directory: PosixPath.absolute(".")
            )
        )
    }

    private static func isDirectory(_ path: String) -> Bool { access(path + "/.", X_OK) == 0 }

    private static func keep(_ child: DetachedProcess) {
        self.children.withLock { children in
            children.removeAll { $0.standing() != .running }
            children.append(child)
        }
    }
}

/// A daemon that was started and may not respond yet.
package struct StartedDaemon: Sendable {
    let process: DetachedProcess
}

/// A pipe with a secret for a child process, so that the secret appears neither in its arguments nor in a file.
package final class SecretPipe: Sendable {
    /// The descriptor of the read end, which is inherited on exec.
    package let reading: Int32

    /// Writes the secret into a pipe.
    ///
    /// - Throws: ``ControlError`` with `badParameter` if it is not a valid token, `unreachable` if no descriptor is
    ///   available.
    package init(_ secret: String) throws(ControlError) {
        let bytes = Array(try SecretFile.token(secret.utf8, from: "the secret that was given").utf8) + [0x0A]
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw ControlError(.unreachable, "no pipe could be opened: \(String(cString: strerror(errno)))")
        }
        // It fits into the buffer of any pipe, so that this does not block.
        let isWritten = systemWrite(ends[1], bytes, bytes.count) == bytes.count
        close(ends[1])
        guard isWritten else {
            close(ends[0])
            throw ControlError(.unreachable, "the secret cannot be passed on: \(String(cString: strerror(errno)))")
        }
        self.reading = ends[0]
    }

    deinit { close(self.reading) }
}

/// The lines appended to a log since a point in time.
struct LogTail {
    private let path: String
    private let start: Int

    init(_ path: String) {
        var status = stat()
        self.path = path
        self.start = lstat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// The last lines since then, formatted to follow a message; empty if there are none.
    func text() -> String {
        let raw = systemOpen(self.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard raw >= 0 else { return "" }
        defer { close(raw) }
        var status = stat()
        guard fstat(raw, &status) == 0, status.st_size > self.start else { return "" }
        var bytes = [UInt8](repeating: 0, count: min(4096, Int(status.st_size) - self.start))
        let count = pread(raw, &bytes, bytes.count, off_t(Int(status.st_size) - bytes.count))
        let lines = bytes.prefix(max(0, count)).split(separator: 0x0A).suffix(5)
        return lines.isEmpty
            ? "" : "; its log says: " + lines.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " | ")
    }
}
