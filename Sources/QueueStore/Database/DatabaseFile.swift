// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// The database's files in the file system.
enum DatabaseFile {
    /// Creates a missing file, and makes existing ones private to the owner: URLs and headers contain secrets.
    ///
    /// SQLite creates `-wal` and `-shm` with the mode of the database file, 0600. An existing file is not opened:
    /// closing it would release the locks of another store in this process (fcntl(2)).
    static func prepare(_ path: String) throws(QueueStoreError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw QueueStoreError(.inputOutput, "a database needs a path; got '\(path.stored)'")
        }
        let file = FileCalls.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if file >= 0 {
            FileCalls.close(file)
            return
        }
        guard errno == EEXIST else { throw Self.error(path, "made", errno) }
        for path in ["", "-wal", "-shm"].map({ path + $0 }) {
            var status = stat()
            guard FileCalls.stat(path, &status) == 0 else {
                if errno == ENOENT { continue }
                throw Self.error(path, "looked at", errno)
            }
            // A directory with mode 0600 would be inaccessible even for its owner.
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw QueueStoreError(.inputOutput, "the database '\(path)' is not a file; name one, or a free path")
            }
            guard FileCalls.chmod(path, 0o600) == 0 else { throw Self.error(path, "made private", errno) }
        }
    }

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
