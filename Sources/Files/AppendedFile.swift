// SPDX-License-Identifier: Apache-2.0
import Platform
package import TransferCore

/// A file of lines: a snapshot that is replaced atomically, and lines that are appended to it.
///
/// Every append is synced before it is reported as written, so that a crash can only leave an incomplete last line, which
/// the reader must recognize. What the lines contain is the owner's.
package struct AppendedFile: Sendable {
    package let path: String
    /// The length up to the end of the last complete line in bytes; `nil` if nothing can be appended before the file is
    /// replaced.
    package private(set) var end: Int64?
    /// Whether an incomplete line may follow ``end``.
    private var isTorn = false

    /// The obsolete bytes that are tolerated in any file.
    private static let leastObsolete: Int64 = 64 << 10

    /// Creates the file's state before it is read or written.
    package init(_ path: String) { self.path = path }

    /// Whether a file should be replaced, so that a change costs its own size on average.
    ///
    /// - Parameters:
    ///   - obsolete: The number of bytes that a replacement would not write again.
    ///   - current: The number of the others.
    /// - Returns: Whether more is obsolete than not.
    package static func isBloated(obsolete: Int64, current: Int64) -> Bool {
        obsolete > max(current, Self.leastObsolete)
    }

    /// Whether the file has another length than this value knows; stat(2).
    package var hasChanged: Bool {
        var status = stat()
        guard FileCalls.stat(self.path, &status) == 0 else { return self.end != nil }
        return Int64(status.st_size) != self.end
    }

    /// The file was read.
    ///
    /// - Parameters:
    ///   - end: The length up to the end of the last complete line.
    ///   - length: The length of the file.
    package mutating func wasRead(upTo end: Int64, of length: Int64) {
        self.end = end
        self.isTorn = end < length
    }

    /// Appends bytes and syncs them (open(2) with `O_NOFOLLOW`, pwrite(2), fdatasync(2)).
    ///
    /// - Parameter bytes: Complete lines.
    /// - Returns: Whether they were appended; false if the file must be replaced, because it was not read, is not a regular
    ///   file, or was changed by another program: then nothing was changed.
    /// - Throws: ``StorageError``: `.noSpace`, `.cannotOpen` or `.inputOutput`. The bytes may or may not be in the file; the
    ///   next append removes what is left of them.
    package mutating func append(_ bytes: [UInt8]) throws(StorageError) -> Bool {
        guard let end = self.end, !self.path.utf8.contains(0) else { return false }
        var raw: Int32
        repeat {
            raw = FileCalls.open(self.path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        } while raw < 0 && errno == EINTR
        guard raw >= 0 else {
            if errno == ENOENT || errno == ELOOP || errno == ENXIO || errno == EISDIR { return false }
            throw StorageError(errno: errno, otherwise: .cannotOpen, "cannot open", self.path)
        }
        let file = FileDescriptor(raw)
        guard let status = file.status(), status.st_mode & S_IFMT == S_IFREG else { return false }
        let length = Int64(status.st_size)
        if self.isTorn, length > end {
            guard file.truncate(end) == 0 else { return false }
        } else if length != end {
            return false
        }
        self.isTorn = true
        var number = bytes.withUnsafeBytes { file.write($0, at: end) }
        if number == 0 { number = file.syncData() }
        if number != 0 { _ = file.truncate(end) }
        let closed = file.close()
        if number == 0 { number = closed }
        guard number == 0 else { throw StorageError(errno: number, otherwise: .inputOutput, "cannot write", self.path) }
        self.isTorn = false
        self.end = end + Int64(bytes.count)
        return true
    }

    /// Replaces the file atomically.
    ///
    /// - Parameter bytes: The new content: complete lines.
    /// - Throws: ``StorageError``: the file is unchanged, unless only the last sync failed.
    package mutating func replace(_ bytes: [UInt8]) throws(StorageError) {
        try AtomicFile.replace(self.path, with: bytes, mode: 0o600)
        self.wasRead(upTo: Int64(bytes.count), of: Int64(bytes.count))
    }
}
