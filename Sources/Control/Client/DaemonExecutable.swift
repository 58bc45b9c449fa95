internal import Platform

/// Finds the program `martletd`.
package enum DaemonExecutable {
    /// The program's path: `MARTLET_DAEMON`, else the one next to the running program, else the first on `PATH`.
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
                    "MARTLET_DAEMON names '\(path)', which is no program",
                    remedy: "set it to the path of martletd, or take it away"
                )
            }
            return path
        }
        var directories = own.map { [PosixPath.parent($0)] } ?? []
        // A relative entry would run a program from the current working directory.
        directories += (environment("PATH") ?? "").split(separator: ":").filter { $0.hasPrefix("/") }.map(String.init)
        for directory in directories {
            let path = directory + "/martletd"
            if self.isProgram(path) { return path }
        }
        throw ControlError(
            .notInstalled,
            "the program martletd is not found, neither beside this program nor on PATH",
            remedy: "install it there (it is a product of the package martlet), or name it by MARTLET_DAEMON"
        )
    }

    /// The path of the running program, symbolic links resolved; `nil` if the system does not report it.
    package static func own() -> String? {
        #if canImport(Darwin)
        var size: UInt32 = 4096
        var bytes = [CChar](repeating: 0, count: Int(size))
        guard _NSGetExecutablePath(&bytes, &size) == 0 else { return nil }
        return PosixPath.canonical(
            String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        )
        #else
        return PosixPath.linkTarget("/proc/self/exe")
        #endif
    }

    /// Checks a program that was named.
    ///
    /// - Throws: ``ControlError`` with `notInstalled` if there is no program with this path.
    static func check(_ path: String) throws(ControlError) -> String {
        guard self.isProgram(path) else {
            throw ControlError(
                .notInstalled,
                "there is no program '\(path)' to start as the daemon",
                remedy: "install martletd there, or name another path"
            )
        }
        return path
    }

    private static func isProgram(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}
