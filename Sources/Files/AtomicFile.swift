// SPDX-License-Identifier: Apache-2.0
import Platform
public import TransferCore

/// Reads and atomically replaces small files, such as a cookie jar.
///
/// Other processes see either the old or the new content, also after a crash.
public enum AtomicFile {
    /// Replaces or creates a file.
    ///
    /// Writes a temporary file in the same directory (openat(2) with `O_EXCL` and `O_NOFOLLOW`), then calls fsync(2),
    /// rename(2), and fsync(2) on the directory. If a call fails, the temporary file is removed and the old file is
    /// unchanged; only if the last sync fails, the new file exists but may not be durable. A symbolic link is replaced,
    /// not followed.
    ///
    /// - Parameters:
    ///   - path: The file; its directory must exist.
    ///   - bytes: The new content.
    ///   - mode: The new file's permissions, regardless of the umask; 0600 until the content is written.
    /// - Throws: ``StorageError``: `.cannotCreateDirectory` if the directory cannot be opened, `.noSpace`, `.exists` if
    ///   the path is a directory, `.cannotCreate` or `.inputOutput`.
    public static func replace(_ path: String, with bytes: [UInt8], mode: UInt32 = 0o600) throws(StorageError) {
        let (parent, name) = try Self.split(path)
        guard let directory = try DirectoryHandle.open(parent, creating: false) else {
            throw StorageError(errno: ENOENT, otherwise: .cannotCreateDirectory, "cannot open the directory", parent)
        }
        try Self.replace(name, in: directory, with: bytes, mode: mode, path: path)
    }

    /// Replaces or creates a file in an open directory, as ``replace(_:with:mode:)``.
    ///
    /// No component of the directory's path can be exchanged meanwhile.
    ///
    /// - Throws: ``StorageError`` as ``replace(_:with:mode:)``.
    package static func replace(
        _ name: String,
        in directory: DirectoryHandle,
        with bytes: [UInt8],
        mode: UInt32 = 0o600
    ) throws(StorageError) {
        guard !name.utf8.contains(0) else { throw Self.nulError }
        try Self.replace(name, in: directory, with: bytes, mode: mode, path: directory.path(name))
    }

    private static func replace(
        _ name: String,
        in directory: DirectoryHandle,
        with bytes: [UInt8],
        mode: UInt32,
        path: String
    ) throws(StorageError) {
        let (file, temporary) = try Self.create(directory)
        var number = bytes.withUnsafeBytes { file.write($0, at: 0) }
        if number == 0 { number = Self.setMode(file, mode) }
        if number == 0 { number = file.sync() }
        // Close before the rename: a network filesystem may report a failed write only now.
        let closed = file.close()
        if number == 0 { number = closed }
        if number == 0 { number = directory.rename(temporary, to: directory, name, replacing: true) }
        guard number == 0 else {
            try? directory.unlink(temporary)
            throw StorageError(errno: number, otherwise: .inputOutput, "cannot write", path)
        }
        try directory.sync()
    }

    /// Makes the names in the directory of a file durable (fsync(2)).
    package static func syncDirectory(of path: String) throws(StorageError) {
        guard let directory = try DirectoryHandle.open(try Self.split(path).directory, creating: false) else { return }
        try directory.sync()
    }

    /// Reads a complete file.
    ///
    /// A symbolic link is followed, and a pipe is read to its end, because the user named it.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - atMost: The maximum size in bytes.
    /// - Returns: The bytes, or `nil` if the file does not exist.
    /// - Throws: ``StorageError``: `.cannotOpen`, or `.inputOutput` if it cannot be read or is larger.
    public static func read(_ path: String, atMost: Int) throws(StorageError) -> [UInt8]? {
        guard !path.utf8.contains(0) else { throw Self.nulError }
        guard let file = try Self.open(path) else { return nil }
        return try Self.read(file, atMost: atMost, path: path)
    }

    /// Reads a complete file in an open directory, as ``read(_:atMost:)``; does not follow a symbolic link.
    ///
    /// - Throws: ``StorageError`` as ``read(_:atMost:)``.
    package static func read(
        _ name: String,
        in directory: DirectoryHandle,
        atMost: Int
    ) throws(StorageError) -> [UInt8]? {
        switch directory.open(name, O_RDONLY | O_NOCTTY) {
        case .success(let file): return try Self.read(file, atMost: atMost, path: directory.path(name))
        case .failure(let error) where error.number == ENOENT: return nil
        case .failure(let error):
            throw StorageError(errno: error.number, otherwise: .cannotOpen, "cannot open", directory.path(name))
        }
    }

    private static func read(
        _ file: FileDescriptor,
        atMost: Int,
        path: String
    ) throws(StorageError) -> [UInt8]? {
        if let status = file.status(), status.st_mode & S_IFMT == S_IFDIR {
            throw StorageError(.cannotOpen, "cannot read '\(path)': it is a directory; name a file", errno: EISDIR)
        }
        let limit = max(0, atMost)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = buffer.withUnsafeMutableBytes { FileCalls.read(file.raw, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw StorageError(errno: errno, otherwise: .inputOutput, "cannot read", path)
            }
            if count == 0 { return bytes }
            guard count <= limit - bytes.count else {
                throw StorageError(.inputOutput, "cannot read '\(path)': it is longer than \(limit) bytes; shorten it")
            }
            bytes.append(contentsOf: buffer[..<count])
        }
    }

    private static func open(_ path: String) throws(StorageError) -> FileDescriptor? {
        while true {
            let raw = FileCalls.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
            if raw >= 0 { return FileDescriptor(raw) }
            if errno == ENOENT { return nil }
            if errno != EINTR { throw StorageError(errno: errno, otherwise: .cannotOpen, "cannot open", path) }
        }
    }

    /// Creates a temporary file with mode 0600, and returns it with its name; `DirectoryHandle.open` would use mode
    /// 0666.
    private static func create(_ directory: DirectoryHandle) throws(StorageError) -> (FileDescriptor, String) {
        var attempts = 0
        while attempts < 16 {
            let name = DirectoryHandle.temporaryName()
            let raw = FileCalls.openat(directory.raw, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            if raw >= 0 {
                directory.listing.note(name)
                return (FileDescriptor(raw), name)
            }
            if errno == EINTR { continue }
            guard errno == EEXIST else {
                throw StorageError(errno: errno, otherwise: .cannotCreate, "cannot create a file in", directory.path)
            }
            attempts += 1
        }
        throw StorageError(
            .cannotCreate,
            "cannot create a file in '\(directory.path)': no free temporary name, try again"
        )
    }

    /// Calls fchmod(2); returns 0, also on filesystems without permissions, or the error number.
    private static func setMode(_ file: FileDescriptor, _ mode: UInt32) -> Int32 {
        while FileCalls.fchmod(file.raw, mode_t(mode & 0o7777)) != 0 {
            switch errno {
            case EINTR: continue
            case EPERM, ENOTSUP, ENOSYS: return 0
            default: return errno
            }
        }
        return 0
    }

    private static func split(_ path: String) throws(StorageError) -> (directory: String, name: String) {
        let utf8 = path.utf8
        guard !utf8.contains(0) else { throw Self.nulError }
        let slash = utf8.lastIndex(of: 0x2F)
        let name = String(path[(slash.map { utf8.index(after: $0) } ?? utf8.startIndex)...])
        guard !name.isEmpty, name != ".", name != ".." else {
            throw StorageError(.cannotCreate, "cannot write '\(path)': it is a directory; name a file")
        }
        guard let slash else { return (".", name) }
        return (slash == utf8.startIndex ? "/" : String(path[..<slash]), name)
    }

    private static let nulError = StorageError(.cannotOpen, "the file name contains a NUL; choose another")
}
