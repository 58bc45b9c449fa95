import Glibc
import TransferCore
public import TransferEngine

/// A regular file whose bytes are sent.
final class DiskSourceFile: SourceFile {
    private let file: FileDescriptor
    private let path: String

    /// Opens it; throws `.cannotOpen`, also where it is no regular file.
    init(_ path: String) throws(StorageError) {
        guard !path.utf8.contains(0) else {
            throw StorageError(.cannotOpen, "a file's name holds a NUL character")
        }
        // O_NONBLOCK: a FIFO in the file's place must not hold this thread.
        var raw: Int32
        repeat { raw = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) } while raw < 0 && errno == EINTR
        guard raw >= 0 else { throw StorageError(errno: errno, otherwise: .cannotOpen, "cannot open", path) }
        self.file = FileDescriptor(raw)
        self.path = path
        guard let status = self.file.status(), status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(.cannotOpen, "cannot send '\(path)': it is not a regular file")
        }
    }

    var descriptor: Int32? { self.file.raw }

    func identity() throws(StorageError) -> FileIdentity {
        guard let status = self.file.status() else {
            throw StorageError(errno: errno, otherwise: .inputOutput, "cannot look at", self.path)
        }
        return FileIdentity(
            size: Int64(status.st_size),
            modified: Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec),
            device: UInt64(status.st_dev),
            inode: UInt64(status.st_ino)
        )
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
    /// Opens a regular file whose bytes are to be sent.
    public func openSource(_ path: String) throws(StorageError) -> any SourceFile { try DiskSourceFile(path) }
}
