#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

internal import Synchronization

/// Starts the daemon of a state directory where none runs.
///
/// Any number of programs may do so at once: the daemon's lock lets one of them through, the others find it.
package struct DaemonLauncher: Sendable {
    /// What the daemon is told beside its state directory, such as `--dir`; nothing that is secret.
    package var arguments: [String]
    /// The token that it is to ask for over TCP; it reaches the daemon through a pipe.
    package var secret: String?
    /// The longest time until it answers.
    package var patience: Duration = .seconds(15)

    private let executable: String?

    /// Daemons that were started here: their ends have to be taken, or they would stay in the table of processes.
    private static let children = Mutex<[DetachedProcess]>([])

    /// Creates a launcher.
    ///
    /// - Parameters:
    ///   - executable: The program, or `nil` to find it, see ``DaemonExecutable``.
    ///   - arguments: What the daemon is told beside its state directory.
    package init(executable: String? = nil, arguments: [String] = []) {
        self.executable = executable
        self.arguments = arguments
    }

    /// Asks the daemon whether it is there, and starts one if it is not.
    ///
    /// - Parameter client: A client of the state directory.
    /// - Returns: Whether it had to be started.
    /// - Throws: ``ControlError`` with `unreachable` and the end of its log where it does not start; `protocolMismatch` where
    ///   another version runs; `forbidden` where the directory is not the user's own.
    @discardableResult
    package func startIfNeeded(_ client: ControlClient) async throws(ControlError) -> Bool {
        if try await self.answers(client) { return false }
        try await self.start(client)
        return true
    }

    /// Starts a daemon and returns when one answers.
    ///
    /// - Throws: ``ControlError`` like ``startIfNeeded(_:)``.
    package func start(_ client: ControlClient) async throws(ControlError) {
        let state = client.state
        let program = if let named = self.executable { named } else { try DaemonExecutable.find() }
        try state.make()
        let clock = ContinuousClock()
        let deadline = clock.now + self.patience
        let log = LogTail(state.logPath)
        var child: DetachedProcess? = try self.spawn(program, state)
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
                    // Another one has the lock: it is about to answer, or to end.
                    child = nil
                    again = clock.now + .seconds(1)
                case .exited(let status):
                    throw ControlError(
                        .unreachable,
                        "the daemon ended as soon as it was started (status \(status))\(log.text())",
                        remedy: "mend that, or run martlet daemon in the foreground to see more"
                    )
                }
            } else if clock.now > again {
                child = try self.spawn(program, state)
            }
            // A cancelled task would not sleep, but spin.
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
        let home = StateDirectory.environment("HOME") ?? "/"
        var words = [program, "--state-dir", state.path, "--detached"] + self.arguments
        guard let secret = self.secret else {
            return try .start(words, log: state.logPath, directory: Self.isDirectory(home) ? home : "/")
        }
        let pipe = try SecretPipe(secret)
        words += ["--rpc-secret-fd", "3"]
        return try .start(
            words,
            log: state.logPath,
            directory: Self.isDirectory(home) ? home : "/",
            inherited: pipe.reading
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

/// A pipe that holds a secret for a process that is to be started: it is seen neither in its arguments nor in a file.
package final class SecretPipe: Sendable {
    /// The end to read from; not closed on exec.
    package let reading: Int32

    /// Writes the secret into a pipe.
    ///
    /// - Throws: ``ControlError`` with `badParameter` where it is no token, `unreachable` where there is no descriptor left.
    package init(_ secret: String) throws(ControlError) {
        let bytes = Array(try SecretFile.token(secret.utf8, from: "the secret that was given").utf8) + [0x0A]
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw ControlError(.unreachable, "no pipe could be opened: \(String(cString: strerror(errno)))")
        }
        // It fits into any pipe's buffer: this does not wait for a reader.
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

/// What a log gained since a moment.
struct LogTail {
    private let path: String
    private let start: Int

    init(_ path: String) {
        var status = stat()
        self.path = path
        self.start = lstat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// The last lines since then, ready to follow a message; empty where there are none.
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
