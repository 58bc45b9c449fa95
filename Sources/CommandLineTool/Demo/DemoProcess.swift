// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Platform

/// A child process of the demo: this executable with another command, in a separate process group.
///
/// It is killed when the demo's main thread ends, however that ends; see ``ParentLink``.
final class DemoProcess {
    /// The destination of an output stream.
    enum Output {
        /// The stream of the demo.
        case inherited
        /// A file, to which the output is appended.
        case file(String)
    }

    /// The process identifier.
    let id: pid_t
    private var ended: ChildProcess.End?

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - executable: The absolute path of this executable.
    ///   - words: The command and its arguments.
    ///   - directory: Its working directory.
    ///   - environment: Variables that replace those of this process.
    ///   - output: The destination of its standard output.
    ///   - errors: The destination of its standard error.
    /// - Throws: ``SyntaxError`` if it cannot be started.
    init(
        _ executable: String,
        _ words: [String],
        in directory: String,
        environment: [String: String],
        output: Output,
        errors: Output
    ) throws(SyntaxError) {
        var id: pid_t = 0
        let arguments = ParentLink.words(executable, words, in: directory)
        let status = SpawnCalls.withActions { actions, attributes in
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
            for (descriptor, output) in [(STDOUT_FILENO, output), (STDERR_FILENO, errors)] {
                guard case .file(let path) = output else { continue }
                posix_spawn_file_actions_addopen(&actions, descriptor, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            }
            // The process group is not the terminal's foreground group: with `stty tostop`, SIGTTOU would stop its
            // output, unless it is blocked.
            var blocked = sigset_t()
            var all = sigset_t()
            sigemptyset(&blocked)
            sigaddset(&blocked, SIGTTOU)
            sigfillset(&all)
            posix_spawnattr_setsigmask(&attributes, &blocked)
            posix_spawnattr_setsigdefault(&attributes, &all)
            posix_spawnattr_setpgroup(&attributes, 0)
            var flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | Int32(POSIX_SPAWN_SETPGROUP)
            flags |= SpawnCalls.closeAll(&actions, from: 3)
            posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: flags))
            return CStrings.with(arguments) { words in
                CStrings.with(Self.variables(environment)) { variables in
                    posix_spawn(&id, executable, &actions, &attributes, words, variables)
                }
            }
        }
        guard status == 0 else {
            let reason = String(cString: strerror(status))
            throw SyntaxError("cannot start '\(DisplayText.clean(executable))': \(reason); install martlet again")
        }
        self.id = id
    }

    /// How the process ended, or `nil` if it runs.
    var end: ChildProcess.End? {
        if let ended = self.ended { return ended }
        var status: Int32 = 0
        let found = waitpid(self.id, &status, WNOHANG)
        if found == 0 || found < 0 && errno == EINTR { return nil }
        let signal = status & 0x7F
        self.ended = found < 0 ? .exited(127) : signal == 0 ? .exited(status >> 8 & 0xFF) : .signalled(signal)
        return self.ended
    }

    /// Sends a signal, unless the process has ended.
    func signal(_ number: Int32) { if self.end == nil { kill(self.id, number) } }

    /// The environment with replaced variables, without systemd's notification socket, which is for one process.
    private static func variables(_ replaced: [String: String]) -> [String] {
        var result: [String] = []
        var entry = environ
        while let pointer = entry.pointee {
            let text = String(cString: pointer)
            let name = String(text.prefix { $0 != "=" })
            if replaced[name] == nil, name != "NOTIFY_SOCKET" { result.append(text) }
            entry += 1
        }
        return result + replaced.map { "\($0.key)=\($0.value)" }
    }
}

/// Ends a process with its parent.
///
/// The kernel's setting is made by the process itself: the parent starts `martlet demo` with a hidden option, which makes
/// the setting and then becomes the actual command by execve(2).
enum ParentLink {
    /// The command line of a process that ends with this one.
    static func words(_ executable: String, _ words: [String], in directory: String) -> [String] {
        [executable, "demo", "--parent", "\(getpid())", "--directory", directory, "--", executable] + words
    }

    /// Becomes a program that is killed when its parent ends.
    ///
    /// On a system without this setting, the program is not killed.
    ///
    /// - Source: prctl(2), `PR_SET_PDEATHSIG`; preserved over execve(2).
    /// - Parameters:
    ///   - words: The program's absolute path and its arguments.
    ///   - directory: The program's working directory.
    ///   - parent: The process identifier of the parent.
    /// - Throws: ``SyntaxError`` if the program cannot be executed.
    static func become(_ words: [String], in directory: String, of parent: Int32) throws(SyntaxError) -> Never {
        guard let program = words.first else { throw SyntaxError("no program given") }
        guard chdir(directory) == 0 else {
            throw SyntaxError("cannot enter '\(DisplayText.clean(directory))': \(String(cString: strerror(errno)))")
        }
        #if os(Linux)
        typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
        // prctl(2) is variadic, which Swift does not import.
        if let call = unsafeBitCast(dlsym(nil, "prctl"), to: Control?.self) { _ = call(1, UInt(SIGKILL), 0, 0, 0) }
        #endif
        // The parent may have ended before the setting was made.
        guard getppid() == parent else { exit(ExitStatus.interrupted) }
        CStrings.with(words) { _ = execv(program, $0) }
        throw SyntaxError("cannot run '\(DisplayText.clean(program))': \(String(cString: strerror(errno)))")
    }
}

/// Arrays of strings for system calls.
enum CStrings {
    /// Calls a function with the strings and a null pointer after them.
    static func with<Result>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}
