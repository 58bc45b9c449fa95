// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
public import TransferCore
public import TransferEngine

/// A regular file to upload.
final class DiskSourceFile: SourceFile {
    private let file: FileDescriptor
    private let path: String

    /// Opens a file; throws `.cannotOpen`, also if it is not a regular file.
    init(_ path: String) throws(StorageError) {
        guard !path.utf8.contains(0) else {
            throw StorageError(.cannotOpen, "the file name contains a NUL character")
        }
        // O_NONBLOCK: opening a FIFO must not block this thread.
        var raw: Int32
        repeat {
            raw = FileCalls.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        } while raw < 0 && errno == EINTR
        guard raw >= 0 else { throw Self.cannotOpen(path, errno) }
        self.file = FileDescriptor(raw)
        self.path = path
        guard let status = self.file.status(), status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(.cannotOpen, "cannot send '\(path)': it is not a regular file")
        }
        var byte: UInt8 = 0
        if status.st_size == 0, FileCalls.pread(raw, &byte, 1, 0) > 0 {
            // A file of proc(5) or sysfs(5): it would be sent as an empty file.
            throw StorageError(
                .cannotOpen,
                "cannot send '\(path)': the kernel generates it when it is read, so its length is unknown; "
                    + "send a copy of it, or send it as a stream"
            )
        }
    }

    private static func cannotOpen(_ path: String, _ number: Int32) -> StorageError {
        switch number {
        case ENOENT:
            // Invalid UTF-8 was replaced when the name was read.
            let hint = path.unicodeScalars.contains("\u{FFFD}") ? "it must be UTF-8, rename the file" : "check its name"
            return StorageError(.cannotOpen, "cannot open '\(path)': it does not exist; \(hint)", errno: number)
        case ELOOP:
            return StorageError(
                .cannotOpen,
                "cannot open '\(path)': its symbolic links form a loop",
                errno: number
            )
        default: return StorageError(errno: number, otherwise: .cannotOpen, "cannot open", path)
        }
    }

    var descriptor: Int32? { self.file.raw }

    func identity() throws(StorageError) -> FileIdentity {
        guard let status = self.file.status() else {
            throw StorageError(errno: errno, otherwise: .inputOutput, "cannot read the attributes of", self.path)
        }
        return FileIdentity(status)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) -> Int {
        let count = self.file.read(into: buffer, at: offset)
        guard count >= 0 else {
            throw StorageError(errno: Int32(-count), otherwise: .inputOutput, "cannot read", self.path)
        }
        return count
    }
}

extension DiskStore {
    /// Opens a regular file for sending.
    public func openSource(_ path: String) throws(StorageError) -> any SourceFile { try DiskSourceFile(path) }
}
