// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// A process in a new session, which outlives its parent.
struct DetachedProcess: Sendable {
    /// The process identifier.
    let id: Int32

    /// The state of a process.
    enum Standing: Equatable {
        /// It runs.
        case running
        /// It ended with this status, or with 128 plus the signal's number if a signal ended it.
        case exited(Int32)
        /// It was reaped elsewhere, for example in a program that ignores SIGCHLD.
        case unknown
    }

    /// Starts a program with only the standard descriptors and `inherited`.
    ///
    /// Its standard input is empty; its output is appended to `log` (mode 0600).
    ///
    /// - Parameters:
    ///   - arguments: The program's path and its arguments.
    ///   - log: The path of the log file.
    ///   - directory: The working directory.
    ///   - inherited: A descriptor that the program gets as number 3, or `nil`.
    /// - Returns: The running process.
    /// - Throws: ``ControlError`` with `unreachable`.
    static func start(
        _ arguments: [String],
        log: String,
        directory: String,
        inherited: Int32? = nil
    ) throws(ControlError) -> DetachedProcess {
        var id: pid_t = 0
        let status = SpawnCalls.withActions { actions, attributes in
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
            posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600)
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
            if let inherited { posix_spawn_file_actions_adddup2(&actions, inherited, 3) }
            SpawnCalls.changeDirectory(&actions, to: directory)
            // The parent may block or ignore signals that the daemon must receive.
            var none = sigset_t()
            var all = sigset_t()
            sigemptyset(&none)
            sigfillset(&all)
            posix_spawnattr_setsigmask(&attributes, &none)
            posix_spawnattr_setsigdefault(&attributes, &all)
            var flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | SpawnCalls.newSession
            flags |= SpawnCalls.closeAll(&actions, from: inherited == nil ? 3 : 4)
            posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: flags))

            var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
            words.append(nil)
            defer { for word in words { free(word) } }
            return posix_spawn(&id, arguments[0], &actions, &attributes, words, environ)
        }
        guard status == 0 else {
            throw ControlError(
                .unreachable,
                "cannot start '\(arguments[0])': \(String(cString: strerror(status)))",
                remedy: "check that it is executable and that '\(log)' is writable"
            )
        }
        return DetachedProcess(id: id)
    }

    /// The current state; the end is reported only once.
    func standing() -> Standing {
        var status: Int32 = 0
        switch waitpid(self.id, &status, WNOHANG) {
        case 0: return .running
        case self.id:
            let signal = status & 0x7F
            return .exited(signal == 0 ? status >> 8 & 0xFF : 128 + signal)
        default: return .unknown
        }
    }
}
