// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// The directory for all of a daemon's files, and their names.
///
/// Its path is absolute, with symbolic links resolved in the part that exists, so that every spelling of a directory
/// finds the same daemon.
package struct StateDirectory: Sendable, Hashable {
    /// The maximum length of a Unix socket path, without the NUL: `sun_path` has 108 bytes on Linux, 104 on Darwin.
    package static var longestSocketPath: Int { MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1 }

    /// The directory; absolute.
    package let path: String

    /// The directory of the socket if its usual path is too long.
    private let runtimeDirectory: String

    /// Determines the directory; nothing is created.
    ///
    /// - Parameters:
    ///   - chosen: The value of `--state-dir`, or `nil` to use `MARTLET_STATE_DIR`, `$XDG_STATE_HOME/martlet` or
    ///     `$HOME/.local/state/martlet`, in this order.
    ///   - environment: Returns the value of an environment variable.
    /// - Throws: ``ControlError`` with `badParameter` if no directory can be determined.
    package init(
        _ chosen: String? = nil,
        environment: (String) -> String? = StateDirectory.environment
    ) throws(ControlError) {
        self.path = PosixPath.canonical(try Self.named(chosen, environment))
        guard !self.path.utf8.contains(0) else {
            throw ControlError(.badParameter, "the state directory's name contains a NUL", remedy: "remove it")
        }
        self.runtimeDirectory = Self.runtimeDirectory(for: self.path, environment)
    }

    /// A variable of the process's environment; an empty one counts as missing.
    package static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    package var databasePath: String { self.member("queue.sqlite") }
    /// The file of the directory's lock, see ``DaemonLock``.
    package var lockPath: String { self.member("martletd.lock") }
    /// The token for TCP, see ``SecretFile``.
    package var secretPath: String { self.member("rpc-secret") }
    /// The options of the last start, with which the daemon starts again.
    package var optionsPath: String { self.member("daemon-options.json") }
    /// The log of a detached daemon.
    package var logPath: String { self.member("martletd.log") }
    /// The containers of background sessions.
    package var sessionsPath: String { self.member("sessions") }
    /// The spools of background sessions, see ``CommandSpool``.
    package var spoolsPath: String { self.member("spools") }

    /// Whether the socket is outside the directory because its path would be too long.
    package var hasDistantSocket: Bool { self.nearSocketPath.utf8.count > Self.longestSocketPath }

    /// The socket.
    ///
    /// If the socket's path in the directory is too long, a daemon creates a symbolic link there to its actual socket,
    /// because its runtime directory may differ from the caller's.
    package var socketPath: String {
        guard self.hasDistantSocket else { return self.nearSocketPath }
        let linked = PosixPath.linkTarget(self.nearSocketPath)
        if let linked, linked.hasPrefix("/"), linked.utf8.count <= Self.longestSocketPath { return linked }
        return self.runtimeDirectory + "/" + Self.socketName
    }

    /// The option `--state-dir` with which a command selects this directory, after a space; empty if it is the default.
    package var option: String {
        if let usual = try? StateDirectory(), usual.path == self.path { return "" }
        return " --state-dir " + ShellWord.quoted(self.path)
    }

    /// Creates the directory if it is missing (mode 0700), and checks its owner and permissions.
    ///
    /// - Throws: ``ControlError`` with `forbidden` if it belongs to another user or others can write to it, `storage`
    ///   if it cannot be created.
    package func make() throws(ControlError) {
        try PosixPath.makeDirectories(self.path)
        try PrivateDirectory.check(self.path, allowing: 0o055)
    }

    /// Creates the directory of the socket; called by the daemon that has the lock.
    ///
    /// - Returns: The path to bind the socket to.
    /// - Throws: ``ControlError`` like ``make()``.
    package func makeSocketDirectory() throws(ControlError) -> String {
        guard self.hasDistantSocket else { return self.nearSocketPath }
        let path = self.runtimeDirectory + "/" + Self.socketName
        if mkdir(self.runtimeDirectory, 0o700) != 0, errno != EEXIST {
            throw PosixPath.cannotMake(self.runtimeDirectory)
        }
        try PrivateDirectory.check(self.runtimeDirectory, allowing: 0)
        if PosixPath.linkTarget(self.nearSocketPath) != path {
            unlink(self.nearSocketPath)
            guard symlink(path, self.nearSocketPath) == 0 else { throw PosixPath.cannotMake(self.nearSocketPath) }
        }
        return path
    }

    /// Checks the owner and permissions of the socket's directory, before anything is sent to the socket.
    ///
    /// - Throws: ``ControlError`` with `forbidden`; `notRunning` if the directory does not exist.
    package func checkSocketDirectory() throws(ControlError) {
        let directory = PosixPath.parent(self.socketPath)
        var status = stat()
        if lstat(directory, &status) != 0, errno == ENOENT || errno == ENOTDIR { throw .notRunning(for: self) }
        try PrivateDirectory.check(directory, allowing: self.hasDistantSocket ? 0 : 0o055)
    }

    private static let socketName = "martletd.sock"

    private var nearSocketPath: String { self.member(Self.socketName) }

    private func member(_ name: String) -> String { self.path == "/" ? "/" + name : self.path + "/" + name }

    private static func named(
        _ chosen: String?,
        _ environment: (String) -> String?
    ) throws(ControlError) -> String {
        if let chosen {
            guard !chosen.isEmpty else {
                throw ControlError(.badParameter, "the state directory's name is empty", remedy: "name a directory")
            }
            return chosen
        }
        if let path = environment("MARTLET_STATE_DIR"), !path.isEmpty { return path }
        // The XDG specification requires a relative path to be ignored.
        if let path = environment("XDG_STATE_HOME"), path.hasPrefix("/") { return path + "/martlet" }
        if let path = environment("HOME"), path.hasPrefix("/") { return path + "/.local/state/martlet" }
        throw ControlError(
            .badParameter,
            "HOME is not set: the daemon's state directory is unknown",
            remedy: "set a directory with --state-dir or MARTLET_STATE_DIR"
        )
    }

    private static func runtimeDirectory(for path: String, _ environment: (String) -> String?) -> String {
        let hash = Self.hash(path)
        if let runtime = environment("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") {
            let directory = "\(runtime)/martlet-\(hash)"
            if directory.utf8.count + 1 + Self.socketName.utf8.count <= Self.longestSocketPath { return directory }
        }
        return "/tmp/martlet-\(geteuid())-\(hash)"
    }

    /// A hash of a path in sixteen hexadecimal digits.
    ///
    /// - Source: FNV-1a, 64 bits. A collision is harmless: the second daemon's directory is refused.
    private static func hash(_ path: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

extension ControlError {
    /// The error that no daemon runs for a state directory.
    package static func notRunning(for state: StateDirectory) -> ControlError {
        ControlError(
            .notRunning,
            "no daemon runs for \(state.path)",
            remedy: "start one with martlet daemon (or martlet daemon --detach), or set another --state-dir"
        )
    }
}
