// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// A child process in a new process group, which inherits the user and standard error but no other descriptor.
package struct ChildProcess: Sendable {
    /// The process identifier, which is also that of its group.
    package let id: Int32
    /// The write end of the pipe to its standard input.
    private let input: Int32
    /// The read end of the pipe from its standard output, or `nil` if its output is discarded.
    let output: Int32?

    /// How a process ended.
    package enum End: Sendable, Hashable {
        /// With this exit status.
        case exited(Int32)
        /// By this signal.
        case signalled(Int32)
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - words: The program, looked up in PATH, and its arguments; not empty.
    ///   - environment: The variables added to this process's environment.
    ///   - capturesOutput: Whether its standard output is read by ``collect(atMost:within:isCancelled:)``; otherwise it
    ///     is discarded.
    /// - Returns: The process; ``write(_:)`` must be called next.
    /// - Throws: ``ControlError`` that names the program.
    package static func start(
        _ words: [String],
        environment: [String: String],
        capturesOutput: Bool = false
    ) throws(ControlError) -> ChildProcess {
        _ = Self.brokenPipesAreErrors
        guard let program = words.first, !program.isEmpty else { throw ControlError(.unknown, "no command given") }
        let input = try Self.pipe(for: program)
        defer { _ = close(input.read) }
        var output: (read: Int32, write: Int32)?
        defer { if let output { _ = close(output.write) } }
        if capturesOutput {
            do throws(ControlError) {
                output = try Self.pipe(for: program)
            } catch {
                _ = close(input.write)
                throw error
            }
        }
        var id: Int32 = 0
        let number = Self.spawn(&id, words, Self.merged(environment), input: input.read, output: output?.write)
        guard number == 0 else {
            _ = close(input.write)
            if let output { _ = close(output.read) }
            throw ControlError(.unknown, "'\(program)' could not be started: \(Self.text(number))")
        }
        return ChildProcess(id: id, input: input.write, output: output?.read)
    }

    private static func pipe(for program: String) throws(ControlError) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Self.systemPipe(&ends) == 0 else {
            throw ControlError(.unknown, "cannot create a pipe for '\(program)': \(Self.text(errno))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func systemPipe(_ ends: inout [Int32]) -> Int32 {
        Platform.pipe(&ends)
    }

    private static func spawn(
        _ id: inout Int32,
        _ words: [String],
        _ environment: [String],
        input: Int32,
        output: Int32?
    ) -> Int32 {
        SpawnCalls.withActions { actions, attributes in
            posix_spawn_file_actions_adddup2(&actions, input, 0)
            if let output {
                posix_spawn_file_actions_adddup2(&actions, output, 1)
            } else {
                posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
            }
            posix_spawn_file_actions_adddup2(&actions, 2, 2)
            var none = sigset_t()
            var all = sigset_t()
            sigemptyset(&none)
            sigfillset(&all)
            posix_spawnattr_setsigmask(&attributes, &none)
            posix_spawnattr_setsigdefault(&attributes, &all)
            posix_spawnattr_setpgroup(&attributes, 0)
            var flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | Int32(POSIX_SPAWN_SETPGROUP)
            // This project's descriptors are close-on-exec; those of libraries may not be.
            flags |= SpawnCalls.closeAll(&actions, from: 3)
            posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: flags))
            return Self.withStrings(words) { arguments in
                Self.withStrings(environment) { posix_spawnp(&id, words[0], &actions, &attributes, arguments, $0) }
            }
        }
    }

    /// Writes the standard input and closes it; blocks until the process has read everything, or closed it.
    ///
    /// To be called once, before ``wait()``.
    package func write(_ bytes: [UInt8]) {
        defer { _ = close(self.input) }
        bytes.withUnsafeBytes { buffer in
            var offset = 0
            while offset < buffer.count {
                let count = Self.systemWrite(self.input, buffer.baseAddress.map { $0 + offset }, buffer.count - offset)
                if count < 0 {
                    if errno == EINTR { continue }
                    return
                }
                offset += count
            }
        }
    }

    /// Blocks until the process has ended.
    package func wait() -> End {
        var status: Int32 = 0
        while waitpid(self.id, &status, 0) < 0 { if errno != EINTR { return .exited(127) } }
        return Self.end(status)
    }

    /// How the process ended, or `nil` if it runs; must not be called again after the end was returned.
    package func endIfAny() -> End? {
        var status: Int32 = 0
        switch waitpid(self.id, &status, WNOHANG) {
        case 0: return nil
        case self.id: return Self.end(status)
        default: return errno == EINTR ? nil : .exited(127)
        }
    }

    private static func end(_ status: Int32) -> End {
        let signal = status & 0x7F
        return signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
    }

    /// Sends a signal to the whole process group.
    package func signal(_ number: Int32) { _ = kill(-self.id, number) }

    private static func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        Platform.write(descriptor, bytes, count)
    }

    /// Ignores SIGPIPE, once for the whole process: a child that does not read its input must not kill this process.
    private static let brokenPipesAreErrors: Void = { SignalDisposition.ignore(SIGPIPE) }()

    private static func text(_ number: Int32) -> String { String(cString: strerror(number)) }

    private static func merged(_ more: [String: String]) -> [String] {
        var result: [String] = []
        var entry = environ
        while let pointer = entry.pointee {
            let text = String(cString: pointer)
            let name = text.prefix { $0 != "=" }
            // systemd's notification socket is for the daemon only.
            if more[String(name)] == nil, name != "NOTIFY_SOCKET" { result.append(text) }
            entry += 1
        }
        return result + more.map { "\($0.key)=\($0.value.filter { $0 != "\0" })" }
    }

    private static func withStrings<Result>(
        _ strings: [String],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}
