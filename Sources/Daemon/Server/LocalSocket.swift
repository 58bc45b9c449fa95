internal import Glibc

/// The file of the Unix socket: it is bound under a provisional name, and gets its own when it is ready.
///
/// NIO deletes the name that it bound when it closes, whoever made what stands there by then. So the daemon deletes the
/// socket itself, if the file is still the one that it bound: a successor may have replaced it.
struct LocalSocket: Sendable {
    /// The path that clients connect to.
    let path: String
    /// The path to bind, in the same directory and as long; nothing has it after ``publish()``.
    let provisional: String
    private var device: dev_t = 0
    private var inode: ino_t = 0

    init(_ path: String) {
        self.path = path
        let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        let mark = path[start...].hasPrefix("_") ? "-" : "_"
        self.provisional = path[..<start] + mark + path[start...].dropFirst()
    }

    /// Gives the bound socket its mode (0600) and its name.
    ///
    /// - Throws: `cannotMakeSocket`.
    mutating func publish() throws(ServerError) {
        var status = stat()
        // Not by umask, which other threads' files would get as well; until here nobody knows the name.
        guard chmod(self.provisional, 0o600) == 0, lstat(self.provisional, &status) == 0,
            rename(self.provisional, self.path) == 0
        else {
            throw ServerError(
                .cannotMakeSocket,
                "\(self.path): the socket cannot get its mode and name (errno \(errno))",
                remedy: "use a directory on a local file system"
            )
        }
        self.device = status.st_dev
        self.inode = status.st_ino
    }

    /// Deletes the socket, unless its path has become another's.
    func remove() {
        var status = stat()
        guard self.inode != 0, lstat(self.path, &status) == 0, status.st_dev == self.device,
            status.st_ino == self.inode
        else { return }
        unlink(self.path)
    }
}
