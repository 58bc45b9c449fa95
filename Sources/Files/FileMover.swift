// SPDX-License-Identifier: Apache-2.0
import Platform
public import TransferCore

/// Moves finished files to their destinations.
public enum FileMover {
    /// Renames a file, or copies it if the paths are on different filesystems; blocks.
    ///
    /// - Parameters:
    ///   - old: The current path.
    ///   - new: The new path; its directory must exist.
    ///   - replacing: Whether an existing file is replaced.
    /// - Throws: `StorageError` with `exists`, `noSpace`, `cannotOpen`, `cannotCreate` or `inputOutput`. The file then
    ///   has its old path, and a file with the new path is unchanged.
    public static func move(_ old: String, to new: String, replacing: Bool) throws(StorageError) {
        let (oldDirectory, oldName) = self.split(old)
        let (newDirectory, newName) = self.split(new)
        guard let from = try DirectoryHandle.open(oldDirectory, creating: false) else {
            throw StorageError(errno: ENOENT, otherwise: .cannotOpen, "cannot move", old)
        }
        guard let to = try DirectoryHandle.open(newDirectory, creating: false) else {
            throw StorageError(errno: ENOENT, otherwise: .cannotCreate, "cannot move to", new)
        }
        switch from.rename(oldName, to: to, newName, replacing: replacing) {
        case 0: return
        case EXDEV: try self.copy(from, oldName, to, newName, replacing: replacing)
        case let number: throw StorageError(errno: number, otherwise: .cannotCreate, "cannot move to", new)
        }
        _ = FileCalls.unlinkat(from.raw, oldName, 0)
    }

    /// Deletes a file; errors are ignored.
    public static func remove(_ path: String) { _ = FileCalls.unlink(path) }

    private static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        let directory = path[..<slash]
        return (directory.isEmpty ? "/" : String(directory), String(path[path.index(after: slash)...]))
    }

    private static func copy(
        _ from: DirectoryHandle,
        _ oldName: String,
        _ to: DirectoryHandle,
        _ newName: String,
        replacing: Bool
    ) throws(StorageError) {
        let temporary = try self.bring(oldName, of: from, to: to)
        let named = to.rename(temporary, to: to, newName, replacing: replacing)
        guard named == 0 else {
            _ = FileCalls.unlinkat(to.raw, temporary, 0)
            throw StorageError(errno: named, otherwise: .cannotCreate, "cannot move to", to.path(newName))
        }
        _ = FileCalls.fsync(to.raw)
    }

    /// Copies a file to another filesystem and syncs the copy; blocks.
    ///
    /// If the filesystem supports unnamed files, a crash leaves no partial copy.
    ///
    /// - Returns: The temporary name of the copy, which the caller renames or deletes.
    /// - Throws: `StorageError` with `noSpace`, `cannotOpen`, `cannotCreate` or `inputOutput`; then no copy exists.
    package static func bring(
        _ name: String,
        of from: DirectoryHandle,
        to directory: DirectoryHandle
    ) throws(StorageError) -> String {
        let source: FileDescriptor
        switch from.open(name, O_RDONLY) {
        case .success(let file): source = file
        case .failure(let error):
            throw StorageError(errno: error.number, otherwise: .cannotOpen, "cannot open", from.path(name))
        }
        if case .success(let copy) = directory.openUnnamed(O_RDWR) {
            let number = Self.copy(source, copy)
            guard number == 0 else {
                throw StorageError(errno: number, otherwise: .inputOutput, "cannot write to", directory.path)
            }
            let temporary = DirectoryHandle.temporaryName()
            if directory.link(copy, as: temporary) == 0 { return temporary }
            guard FileCalls.lseek(source.raw, 0, SEEK_SET) == 0 else {
                throw StorageError(errno: errno, otherwise: .inputOutput, "cannot read", from.path(name))
            }
        }
        let (copy, temporary) = try directory.createTemporary()
        let number = Self.copy(source, copy)
        guard number == 0 else {
            _ = FileCalls.unlinkat(directory.raw, temporary, 0)
            throw StorageError(errno: number, otherwise: .inputOutput, "cannot write to", directory.path)
        }
        return temporary
    }

    /// Copies all bytes and syncs them; returns 0 or the error number.
    ///
    /// copy_file_range(2) shares the blocks if the filesystem supports that.
    package static func copy(_ source: FileDescriptor, _ target: FileDescriptor) -> Int32 {
        while true {
            let count = KernelCalls.copyRange(source.raw, target.raw, 1 << 30)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { break }
        }
        // Copies the rest, or all bytes, through memory: both offsets are where copy_file_range(2) stopped.
        return withUnsafeTemporaryAllocation(byteCount: 1 << 20, alignment: 16) { buffer in
            while true {
                let count = FileCalls.read(source.raw, buffer.baseAddress, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { return errno }
                if count == 0 { return FileCalls.fsync(target.raw) == 0 ? 0 : errno }
                var offset = 0
                while offset < count {
                    let written = FileCalls.write(target.raw, buffer.baseAddress.map { $0 + offset }, count - offset)
                    if written < 0, errno == EINTR { continue }
                    guard written >= 0 else { return errno }
                    offset += written
                }
            }
        }
    }
}
