#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The process's descriptors.
enum OpenFiles {
    /// What the process has open besides transfers: standard streams, event loops, pipes, directories.
    private static let reserve = 32

    /// Opens `/dev/null` where a standard stream is closed.
    ///
    /// Otherwise the next file or socket would get its number, and what is written for a person would go there.
    ///
    /// - Precondition: Nothing has been opened yet.
    static func fillStandardStreams() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // The lowest free number is this one. What was closed cannot be read: an empty input is another thing.
            _ = open("/dev/null", O_WRONLY)
        }
    }

    /// Raises the soft limit to the hard one: many connections and files are open at once.
    ///
    /// - Returns: The limit now.
    @discardableResult
    static func raiseLimit() -> Int {
        var limit = rlimit()
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        guard getrlimit(resource, &limit) == 0 else { return Int.max }
        if limit.rlim_cur < limit.rlim_max {
            let soft = limit.rlim_cur
            limit.rlim_cur = limit.rlim_max
            if setrlimit(resource, &limit) != 0 { limit.rlim_cur = soft }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// The files that may run at once within a limit: each has its data, its journal and its connections.
    static func jobs(within limit: Int, connectionsPerFile connections: Int) -> Int {
        max(1, (limit - self.reserve) / (2 + max(1, connections)))
    }
}
