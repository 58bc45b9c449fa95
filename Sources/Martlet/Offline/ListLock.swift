// SPDX-License-Identifier: Apache-2.0
internal import Platform

internal import Synchronization

/// An exclusive lock on a list, among processes and within this one.
///
/// The lock is a kernel lock (flock(2)), which ends with the process. The lock file is never deleted: a deleted and
/// recreated file could be locked twice. On a filesystem without locks the list is used unlocked.
final class ListLock: Sendable {
    private let descriptor: Mutex<Int32>

    /// Takes the lock without waiting.
    ///
    /// - Throws: ``TransferError`` with `listInUse` if it is taken, `file` if the lock file cannot be created.
    init(_ path: String, for list: String) throws(TransferError) {
        var raw: Int32
        repeat { raw = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) } while raw < 0 && errno == EINTR
        guard raw >= 0 else {
            throw TransferError(
                .file,
                "cannot create the lock file '\(path)' of the list: \(String(cString: strerror(errno)))",
                remedy: "choose a list in a writable directory"
            )
        }
        self.descriptor = Mutex(raw)
        var result: Int32
        repeat { result = flock(raw, LOCK_EX | LOCK_NB) } while result != 0 && errno == EINTR
        guard result == 0 || errno != EWOULDBLOCK else {
            throw TransferError(
                .listInUse,
                "the list '\(list)' is already open, in this program or another",
                remedy: "close it there, or choose another list",
                isRetryable: true
            )
        }
    }

    deinit { self.release() }

    func release() {
        let raw = self.descriptor.withLock { raw in
            defer { raw = -1 }
            return raw
        }
        guard raw >= 0 else { return }
        // Unlocked explicitly: close(2) does not release the lock while a child process that is being started has a
        // copy of the descriptor.
        _ = flock(raw, LOCK_UN)
        close(raw)
    }
}

/// Paths that do not depend on the working directory.
enum ListPath {
    static func absolute(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        guard let working = getcwd(nil, 0) else { return path }
        defer { free(working) }
        return String(cString: working) + "/" + path
    }

    /// The path up to its last slash.
    static func parent(_ path: String) -> String {
        let directory = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
        return directory.isEmpty ? "/" : String(directory)
    }

    /// Creates a directory and its missing parents.
    static func makeDirectory(_ path: String) throws(TransferError) {
        if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        if errno == ENOENT, path != "/" {
            try self.makeDirectory(self.parent(path))
            if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        }
        throw TransferError(
            .file,
            "cannot create the directory '\(path)': \(String(cString: strerror(errno)))",
            remedy: "choose a writable directory"
        )
    }

    /// Whether a file of any kind has this name, including a dangling symbolic link.
    static func isTaken(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
