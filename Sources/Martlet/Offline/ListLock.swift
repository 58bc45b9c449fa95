#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

internal import Synchronization

/// Keeps a file of a list for one owner, among processes and in this one.
///
/// The lock is the kernel's (flock(2)) and ends with the process, however that ends. The file it is on stays: one that is
/// deleted and made again could be locked twice. A filesystem without locks is used without.
final class ListLock: Sendable {
    private let descriptor: Mutex<Int32>

    /// Locks, without waiting.
    ///
    /// - Throws: ``TransferError`` with `listInUse` where somebody has it, `file` where the file cannot be made.
    init(_ path: String, for list: String) throws(TransferError) {
        var raw: Int32
        repeat { raw = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) } while raw < 0 && errno == EINTR
        guard raw >= 0 else {
            throw TransferError(
                .file,
                "cannot make '\(path)', which keeps the list for one owner: \(String(cString: strerror(errno)))",
                remedy: "name a list in a directory that can be written"
            )
        }
        self.descriptor = Mutex(raw)
        var result: Int32
        repeat { result = flock(raw, LOCK_EX | LOCK_NB) } while result != 0 && errno == EINTR
        guard result == 0 || errno != EWOULDBLOCK else {
            throw TransferError(
                .listInUse,
                "the list '\(list)' is open already, in this program or another",
                remedy: "close it there, or name another list",
                isRetryable: true
            )
        }
    }

    deinit { self.release() }

    /// Lets others have the file.
    func release() {
        let raw = self.descriptor.withLock { raw in
            defer { raw = -1 }
            return raw
        }
        guard raw >= 0 else { return }
        // Not left to close(2): a process that is just being started may have a copy of the descriptor.
        _ = flock(raw, LOCK_UN)
        close(raw)
    }
}

/// Paths that stay the same whatever becomes of the working directory.
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

    /// Makes a directory and those above it, where they are missing.
    static func makeDirectory(_ path: String) throws(TransferError) {
        if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        if errno == ENOENT, path != "/" {
            try self.makeDirectory(self.parent(path))
            if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        }
        throw TransferError(
            .file,
            "cannot make the directory '\(path)': \(String(cString: strerror(errno)))",
            remedy: "name one that can be written"
        )
    }

    /// Whether anything has this name, a dangling link included.
    static func isTaken(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
