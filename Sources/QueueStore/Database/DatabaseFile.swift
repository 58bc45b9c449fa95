#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The database's file as the filesystem sees it.
enum DatabaseFile {
    /// Makes the file where there is none, and lets nobody but its owner read it: URLs and headers hold secrets.
    ///
    /// SQLite gives `-wal` and `-shm` the file's own mode. A file that is there is not opened: closing it again would drop
    /// the locks that another store in this process holds (fcntl(2)).
    static func prepare(_ path: String) throws(QueueStoreError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw QueueStoreError(.inputOutput, "a database needs a path; got '\(path.stored)'")
        }
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if file >= 0 {
            close(file)
            return
        }
        guard errno == EEXIST else { throw Self.error(path, "made", errno) }
        for path in ["", "-wal", "-shm"].map({ path + $0 }) {
            var status = stat()
            guard stat(path, &status) == 0 else {
                if errno == ENOENT { continue }
                throw Self.error(path, "looked at", errno)
            }
            // A directory that nobody may enter any more would be lost to its owner.
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw QueueStoreError(.inputOutput, "the database '\(path)' is no file; name one, or a free path")
            }
            guard chmod(path, 0o600) == 0 else { throw Self.error(path, "made private", errno) }
        }
    }

    /// The directory that a path is in.
    static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func error(_ path: String, _ what: String, _ number: Int32) -> QueueStoreError {
        let reason = String(cString: strerror(number))
        if number == ENOSPC || number == EDQUOT { return .full(path, reason) }
        return QueueStoreError(
            .inputOutput,
            "the database '\(path)' cannot be \(what) (\(reason)); its directory must be there and belong to this user"
        )
    }
}
