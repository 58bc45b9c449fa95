// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// Finds the daemon's executable: `martlet`, or `martletd`, which is a link to it.
package enum DaemonExecutable {
    /// The names of the executable in a directory, in the order in which they are looked for.
    private static let names = [Self.command, "martletd"]
    /// The executable that is the daemon only with the subcommand `daemon`.
    private static let command = "martlet"

    /// The executable's path: `MARTLET_DAEMON`, else the one next to the running program, else the first on `PATH`.
    ///
    /// - Parameters:
    ///   - environment: Returns the value of an environment variable.
    ///   - own: The path of the running program.
    /// - Returns: The program's path.
    /// - Throws: ``ControlError`` with `notInstalled` if there is none.
    package static func find(
        environment: (String) -> String? = StateDirectory.environment,
        beside own: String? = Self.own()
    ) throws(ControlError) -> String {
        if let named = environment("MARTLET_DAEMON") {
            let path = PosixPath.absolute(named)
            guard self.isProgram(path) else {
                throw ControlError(
                    .notInstalled,
                    "MARTLET_DAEMON is '\(path)', which is not an executable file",
                    remedy: "set it to the path of martlet, or unset it"
                )
            }
            return path
        }
        var directories = own.map { [PosixPath.parent($0)] } ?? []
        // A relative entry would run a program from the current working directory.
        directories += (environment("PATH") ?? "").split(separator: ":").filter { $0.hasPrefix("/") }.map(String.init)
        for directory in directories {
            for name in self.names where self.isProgram(directory + "/" + name) { return directory + "/" + name }
        }
        throw ControlError(
            .notInstalled,
            "the executable martlet, which contains the daemon, was found neither next to this program nor in PATH",
            remedy: "install it there (it is a product of the package martlet), or set MARTLET_DAEMON to its path"
        )
    }

    /// The first words of the command line of a daemon: the path, and the subcommand if the path needs it.
    static func words(_ path: String) -> [String] {
        path.split(separator: "/").last.map(String.init) == self.command ? [path, "daemon"] : [path]
    }

    /// The path of the running program, symbolic links resolved; `nil` if the system does not report it.
    package static func own() -> String? {
        RunningExecutable.path.flatMap { path in
            PosixPath.linkTarget(path).flatMap { $0.hasPrefix("/") ? $0 : nil } ?? PosixPath.canonical(path)
        }
    }

    /// Checks a program that was named.
    ///
    /// - Throws: ``ControlError`` with `notInstalled` if there is no program with this path.
    static func check(_ path: String) throws(ControlError) -> String {
        guard self.isProgram(path) else {
            throw ControlError(
                .notInstalled,
                "'\(path)', the daemon's executable, does not exist or is not an executable file",
                remedy: "install martlet there, or give another path"
            )
        }
        return path
    }

    private static func isProgram(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}
