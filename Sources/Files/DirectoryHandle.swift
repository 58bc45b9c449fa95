// SPDX-License-Identifier: Apache-2.0
package import Platform
package import TransferCore

/// An open directory, and the system calls for names in it.
///
/// No call follows a symbolic link.
package final class DirectoryHandle: Sendable {
    /// The path of the directory, for messages.
    package let path: String
    package let listing = RecentListing()
    private let descriptor: FileDescriptor
    /// The names to sync before the directory is durable.
    package let created: NewDirectories
    /// Whether ``sync()`` makes the names of the directory and its parents durable: an earlier process may have created
    /// them.
    private let syncsParents: Bool

    /// Takes over an open directory.
    ///
    /// - Parameters:
    ///   - path: Its path, for messages.
    ///   - descriptor: The open directory.
    package convenience init(path: String, descriptor: FileDescriptor) {
        self.init(path: path, descriptor: descriptor, created: NewDirectories(), syncsParents: false)
    }

    private init(path: String, descriptor: FileDescriptor, created: NewDirectories, syncsParents: Bool) {
        self.path = path
        self.descriptor = descriptor
        self.created = created
        self.syncsParents = syncsParents
    }

    /// The descriptor's number.
    package var raw: Int32 { self.descriptor.raw }

    /// Opens a directory; returns `nil` if it does not exist and `creating` is false.
    ///
    /// With `creating`, ``sync()`` makes the directory's own name durable too, whichever process has created it.
    package static func open(_ path: String, creating: Bool) throws(StorageError) -> DirectoryHandle? {
        try self.open(path, creating: creating, NewDirectories(), syncsParents: creating)
    }

    /// Opens a directory of a store; returns `nil` if it does not exist and `creating` is false.
    package static func open(
        _ path: String,
        creating: Bool,
        _ created: NewDirectories,
        syncsParents: Bool = true
    ) throws(StorageError) -> DirectoryHandle? {
        let path = path.isEmpty ? "." : path
        if let descriptor = try Self.openExisting(path) {
            return DirectoryHandle(path: path, descriptor: descriptor, created: created, syncsParents: syncsParents)
        }
        guard creating else { return nil }
        try Self.make(path, created)
        guard let descriptor = try Self.openExisting(path) else {
            throw StorageError(errno: ENOENT, otherwise: .cannotCreateDirectory, "cannot open the directory", path)
        }
        return DirectoryHandle(path: path, descriptor: descriptor, created: created, syncsParents: syncsParents)
    }

    /// Opens a directory; returns `nil` if it does not exist.
    package static func openExisting(_ path: String) throws(StorageError) -> FileDescriptor? {
        var raw: Int32
        repeat { raw = FileCalls.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) } while raw < 0 && errno == EINTR
        if raw < 0, errno == EACCES {
            // A directory without read permission; it cannot be synced.
            raw = KernelCalls.openForSearch(path)
        }
        if raw >= 0 { return FileDescriptor(raw) }
        if errno == ENOENT { return nil }
        throw StorageError(errno: errno, otherwise: .cannotCreateDirectory, "cannot open the directory", path)
    }

    /// Creates missing directories, as `mkdir -p`.
    private static func make(_ path: String, _ created: NewDirectories) throws(StorageError) {
        var made = path.hasPrefix("/") ? "/" : ""
        for component in path.split(separator: "/", omittingEmptySubsequences: true) {
            let parent = made.isEmpty ? "." : made
            made += (made.isEmpty || made.hasSuffix("/") ? "" : "/") + component
            if FileCalls.mkdir(made, 0o777) == 0 {
                try created.wasCreated(in: parent)
            } else if errno != EEXIST && errno != EISDIR {
                var status = stat()
                let number = errno
                // Existing parents that are read-only or forbidden do not matter.
                if FileCalls.stat(made, &status) == 0 { continue }
                throw StorageError(
                    errno: number,
                    otherwise: .cannotCreateDirectory,
                    "cannot create the directory",
                    made
                )
            }
        }
    }

    /// The path of a name in the directory, for messages.
    package func path(_ name: String) -> String {
        self.path == "." ? name : self.path.hasSuffix("/") ? self.path + name : self.path + "/" + name
    }

    /// openat(2) with `O_NOFOLLOW` and `O_CLOEXEC`; returns the descriptor or the error number.
    package func open(_ name: String, _ flags: Int32) -> Result<FileDescriptor, SystemError> {
        while true {
            let raw = FileCalls.openat(self.raw, name, flags | O_NOFOLLOW | O_CLOEXEC, 0o666)
            if raw >= 0 {
                // After the call: an earlier listing does not have the name, a later one does.
                if flags & O_CREAT != 0 { self.listing.note(name) }
                return .success(FileDescriptor(raw))
            }
            let number = errno
            if number == EEXIST { self.listing.note(name) }
            if number != EINTR { return .failure(SystemError(number: number)) }
        }
    }

    /// Creates an unnamed file in the directory (`O_TMPFILE`); returns the descriptor or the error number.
    package func openUnnamed(_ access: Int32) -> Result<FileDescriptor, SystemError> {
        while true {
            let raw = KernelCalls.openUnnamed(in: self.raw, access, mode: 0o666)
            if raw >= 0 { return .success(FileDescriptor(raw)) }
            if errno != EINTR { return .failure(SystemError(number: errno)) }
        }
    }

    /// fstatat(2) of a name without following a link; returns `nil` if it does not exist.
    package func status(_ name: String) throws(StorageError) -> stat? {
        var status = stat()
        if FileCalls.fstatat(self.raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status }
        if errno == ENOENT { return nil }
        throw StorageError(errno: errno, otherwise: .cannotOpen, "cannot examine", self.path(name))
    }

    /// Whether the directory was deleted while it was open.
    package var isDeleted: Bool { self.descriptor.status()?.st_nlink == 0 }

    /// Deletes a name; succeeds if it does not exist.
    package func unlink(_ name: String) throws(StorageError) {
        repeat {
            if FileCalls.unlinkat(self.raw, name, 0) == 0 || errno == ENOENT { return }
        } while errno == EINTR
        throw StorageError(errno: errno, otherwise: .inputOutput, "cannot delete", self.path(name))
    }

    /// Syncs the directory's entries, and those of the parents of directories whose names may not be durable.
    package func sync() throws(StorageError) {
        try self.syncParents()
        try Self.sync(self.descriptor, self.path)
    }

    /// Syncs the entries of the parents whose names may not be durable.
    ///
    /// Call it before a file gets its name in the directory: it opens directories, and what fails afterwards leaves the
    /// file under its name.
    package func syncParents() throws(StorageError) {
        try self.created.sync(for: self.syncsParents ? self.path : nil)
    }

    /// Syncs the entries of an open directory.
    package static func sync(_ directory: FileDescriptor, _ path: String) throws(StorageError) {
        let number = directory.sync()
        // EBADF: opened for search only; EINVAL: the filesystem does not support syncing directories.
        if number != 0, number != EBADF, number != EINVAL, number != ENOTSUP {
            throw StorageError(errno: number, otherwise: .inputOutput, "cannot sync the directory", path)
        }
    }
}

/// An error number, before its conversion to a `StorageError`.
package struct SystemError: Error {
    /// See errno(3).
    package let number: Int32

    /// Creates an error.
    package init(number: Int32) { self.number = number }
}
