#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Another program, started with nothing of this one but its user: no descriptor, no signal mask, a group of its own.
struct ChildProcess: Sendable {
    /// Its process id, which is its group's, too.
    let id: pid_t
    /// Where its standard input is written.
    private let input: Int32

    /// Why it could not be started.
    struct StartError: Error, Sendable, CustomStringConvertible {
        /// What happened.
        let description: String
    }

    /// How it ended.
    enum End: Sendable, Hashable {
        /// With this status.
        case exited(Int32)
        /// By this signal.
        case signalled(Int32)
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - words: The program, looked for in PATH, and its arguments; not empty.
    ///   - environment: What is added to this process's environment.
    /// - Returns: The process, which waits for ``write(_:)``.
    /// - Throws: ``StartError`` that names the program.
    static func start(_ words: [String], environment: [String: String]) throws(StartError) -> ChildProcess {
        _ = Self.brokenPipesAreErrors
        guard let program = words.first, !program.isEmpty else { throw StartError(description: "no command is given") }
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw StartError(description: "no pipe for '\(program)': \(Self.text(errno))") }
        _ = fcntl(ends[1], F_SETFD, FD_CLOEXEC)
        defer { _ = close(ends[0]) }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, 2, 2)
        // All descriptors here are closed on exec; this holds it against those of libraries.
        _ = Self.closeFrom?(&actions, 3)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | Int32(POSIX_SPAWN_SETPGROUP)
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var id: pid_t = 0
        let number = Self.withStrings(words) { words in
            Self.withStrings(Self.merged(environment)) { posix_spawnp(&id, program, &actions, &attributes, words, $0) }
        }
        guard number == 0 else {
            _ = close(ends[1])
            throw StartError(description: "'\(program)' could not be started: \(Self.text(number))")
        }
        return ChildProcess(id: id, input: ends[1])
    }

    /// Gives it its standard input; blocks until it took it, or does not want more.
    ///
    /// To be called once, before ``wait()``.
    func write(_ bytes: [UInt8]) {
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

    /// Blocks until it has ended.
    func wait() -> End {
        var status: Int32 = 0
        while waitpid(self.id, &status, 0) < 0 { if errno != EINTR { return .exited(127) } }
        let signal = status & 0x7F
        return signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
    }

    /// Sends its whole group a signal.
    func signal(_ number: Int32) { _ = kill(-self.id, number) }

    private static func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        #if canImport(Glibc)
        Glibc.write(descriptor, bytes, count)
        #elseif canImport(Musl)
        Musl.write(descriptor, bytes, count)
        #else
        Darwin.write(descriptor, bytes, count)
        #endif
    }

    /// For the whole process, once: a child that reads nothing must not end this one.
    private static let brokenPipesAreErrors: Void = { _ = Self.ignore(SIGPIPE) }()

    private static func ignore(_ number: Int32) -> Bool {
        var action = sigaction()
        #if canImport(Darwin)
        action.__sigaction_u.__sa_handler = SIG_IGN
        #else
        action.__sigaction_handler.sa_handler = SIG_IGN
        #endif
        return sigaction(number, &action, nil) == 0
    }

    private typealias CloseFrom = @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32

    /// Of glibc 2.34; the Glibc module does not show it.
    private static let closeFrom = unsafeBitCast(
        dlsym(nil, "posix_spawn_file_actions_addclosefrom_np"),
        to: CloseFrom?.self
    )

    private static func text(_ number: Int32) -> String { String(cString: strerror(number)) }

    private static func merged(_ more: [String: String]) -> [String] {
        var result: [String] = []
        var entry = environ
        while let pointer = entry.pointee {
            let text = String(cString: pointer)
            let name = text.prefix { $0 != "=" }
            // systemd's socket is the daemon's alone.
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
