// SPDX-License-Identifier: Apache-2.0
import Platform

/// The file descriptors of the process.
enum OpenFiles {
    /// The number of descriptors not used by transfers: standard streams, event loops, pipes, directories.
    private static let reserve = 32

    /// The number of descriptors without which the event loops cannot be created.
    private static let needed = 24

    /// The reason the process cannot work, or `nil` if it has enough descriptors.
    static var shortage: String? {
        guard let limit = DescriptorLimits.current, limit.hard < self.needed else { return nil }
        return "the limit of open files is \(limit.hard), at least \(self.needed) are needed; raise it (ulimit -n)"
    }

    /// Opens `/dev/null` for each standard stream that is closed.
    ///
    /// Otherwise the next file or socket would get its number, and messages for the user would be written into it.
    ///
    /// - Precondition: No descriptor has been opened yet.
    static func fillStandardStreams() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // open(2) returns the lowest free number, which is this one. Write-only: reading must fail, not return an
            // empty input.
            _ = open("/dev/null", O_WRONLY)
        }
    }

    /// The maximum number of concurrent files for a limit: each needs its data, its journal and its connections.
    static func jobs(within limit: Int, connectionsPerFile connections: Int) -> Int {
        max(1, (limit - self.reserve) / (2 + max(1, connections)))
    }
}
