internal import Glibc

/// How many connections the process's descriptors are enough for.
enum DescriptorLimit {
    /// What is open beside connections: standard streams, loops, the tree, the area, files being synced.
    private static let reserve = 32
    /// The connection, the file that is sent or written, and sendfile(2)'s copy of its descriptor.
    private static let perConnection = 3

    /// The connections that may be open at once, of those that are asked for.
    ///
    /// One more is always accepted, so that its client can be told.
    static func connections(_ wanted: Int) -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return wanted }
        return self.connections(wanted, within: Int(clamping: limit.rlim_cur))
    }

    /// The same for a limit of descriptors.
    static func connections(_ wanted: Int, within limit: Int) -> Int {
        max(1, min(wanted, (limit - self.reserve) / self.perConnection))
    }
}
