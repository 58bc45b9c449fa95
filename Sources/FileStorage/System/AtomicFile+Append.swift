// SPDX-License-Identifier: Apache-2.0
import Platform
public import TransferCore

extension AtomicFile {
    /// Appends bytes to a file and syncs it (open(2) with `O_NOFOLLOW`, pwrite(2), fdatasync(2)).
    ///
    /// A crash can leave any prefix of the bytes at the file's end; a reader must recognize an incomplete end.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - path: The file.
    ///   - end: The length that the file must have, in bytes.
    /// - Returns: Whether they were appended; false if the path is not a regular file of this length: then nothing was
    ///   changed.
    /// - Throws: ``StorageError``: `.noSpace`, `.cannotOpen` or `.inputOutput`. The file is truncated to its old length
    ///   if possible; the caller must assume that it was not, and replace the file.
    public static func append(_ bytes: [UInt8], to path: String, at end: Int64) throws(StorageError) -> Bool {
        guard !path.utf8.contains(0) else { return false }
        var raw: Int32
        repeat {
            raw = FileCalls.open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        } while raw < 0 && errno == EINTR
        guard raw >= 0 else {
            if errno == ENOENT || errno == ELOOP || errno == ENXIO || errno == EISDIR { return false }
            throw StorageError(errno: errno, otherwise: .cannotOpen, "cannot open", path)
        }
        let file = FileDescriptor(raw)
        guard let status = file.status(), status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) == end else {
            return false
        }
        var number = bytes.withUnsafeBytes { file.write($0, at: end) }
        if number == 0 { number = file.syncData() }
        if number != 0 { _ = file.truncate(end) }
        let closed = file.close()
        if number == 0 { number = closed }
        guard number == 0 else { throw StorageError(errno: number, otherwise: .inputOutput, "cannot write", path) }
        return true
    }
}
