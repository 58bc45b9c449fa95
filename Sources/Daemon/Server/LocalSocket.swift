// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// The file of the Unix socket, which is bound under a provisional name and renamed when it is ready.
///
/// On close NIO deletes the path that it bound, even if another process has created a new file there. Therefore the
/// daemon deletes the socket itself, and only if the file is still the one that it bound: a successor may have replaced
/// it.
struct LocalSocket: Sendable {
    /// The path that clients connect to.
    let path: String
    /// The path to bind, in the same directory and of the same length; unused after ``publish()``.
    let provisional: String
    private var device: dev_t = 0
    private var inode: ino_t = 0

    init(_ path: String) {
        self.path = path
        let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        let mark = path[start...].hasPrefix("_") ? "-" : "_"
        self.provisional = path[..<start] + mark + path[start...].dropFirst()
    }

    /// Sets the mode of the bound socket (0600) and renames it to ``path``.
    ///
    /// - Throws: `cannotMakeSocket`.
    mutating func publish() throws(ServerError) {
        var status = stat()
        // Not by umask, which also affects files of other threads; until the rename no client knows the name.
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

    /// Deletes the socket, unless another file has replaced it.
    func remove() {
        var status = stat()
        guard self.inode != 0, lstat(self.path, &status) == 0, status.st_dev == self.device,
            status.st_ino == self.inode
        else { return }
        unlink(self.path)
    }
}
