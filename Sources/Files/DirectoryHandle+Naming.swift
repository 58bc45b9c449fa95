// SPDX-License-Identifier: Apache-2.0
package import Platform
package import TransferCore

extension DirectoryHandle {
    /// A random hidden name: `.martlet-` and eight characters.
    package static func temporaryName() -> String {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var name = Array(".martlet-".utf8)
        var random = SystemRandom()
        for _ in 0..<8 { name.append(alphabet[Int.random(in: 0..<alphabet.count, using: &random)]) }
        return String(decoding: name, as: UTF8.self)
    }

    /// Whether a name has the form of ``temporaryName()``, such as a file left by a crash.
    package static func isTemporary(_ name: String) -> Bool { name.hasPrefix(".martlet-") && name.utf8.count == 17 }

    /// The temporary name that a file has besides its own, if these are its only ones; `nil` if there is none.
    ///
    /// A process that was killed while ``rename(_:to:_:replacing:)`` gave the file its name has left it.
    package func temporaryName(of file: stat) -> String? {
        guard file.st_nlink == 2, file.st_mode & S_IFMT == S_IFREG else { return nil }
        let raw = FileCalls.openat(self.raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard raw >= 0, let entries = DirectoryEntries(raw) else { return nil }
        while let name = entries.next() {
            guard Self.isTemporary(name), let status = try? self.status(name) else { continue }
            if status.st_ino == file.st_ino, status.st_dev == file.st_dev { return name }
        }
        return nil
    }

    /// Links an unnamed file to a name (linkat(2)); returns 0 or the error number, `EEXIST` if the name is taken.
    package func link(_ descriptor: FileDescriptor, as name: String) -> Int32 {
        let result = KernelCalls.link(descriptor.raw, in: self.raw, as: name) == 0 ? 0 : errno
        // If the name is taken, another process may have created it since the listing.
        if result == 0 || result == EEXIST { self.listing.note(name) }
        return result
    }

    /// Links an unnamed file to a name, replacing an existing file.
    package func linkReplacing(_ descriptor: FileDescriptor, as name: String) -> Int32 {
        let direct = self.link(descriptor, as: name)
        guard direct == EEXIST else { return direct }
        for _ in 0..<16 {
            let temporary = Self.temporaryName()
            let result = self.link(descriptor, as: temporary)
            if result == EEXIST { continue }
            guard result == 0 else { return result }
            guard FileCalls.renameat(self.raw, temporary, self.raw, name) == 0 else {
                let number = errno
                _ = FileCalls.unlinkat(self.raw, temporary, 0)
                return number
            }
            return 0
        }
        return EEXIST
    }

    /// Renames a file of this directory; returns 0 or the error number.
    ///
    /// `EEXIST` if the new name is taken and `replacing` is false: then no file is replaced, on any filesystem.
    package func rename(_ old: String, to directory: DirectoryHandle, _ new: String, replacing: Bool) -> Int32 {
        defer { directory.listing.note(new) }
        if replacing {
            return FileCalls.renameat(self.raw, old, directory.raw, new) == 0 ? 0 : errno
        }
        if KernelCalls.renameWithoutReplacing(self.raw, old, directory.raw, new) == 0 { return 0 }
        guard errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP else { return errno }
        if FileCalls.linkat(self.raw, old, directory.raw, new, 0) == 0 {
            return FileCalls.unlinkat(self.raw, old, 0) == 0 ? 0 : errno
        }
        guard errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS else { return errno }
        // The filesystem (FAT) supports neither call: reserve the name with an empty file, then replace that.
        switch directory.open(new, O_WRONLY | O_CREAT | O_EXCL) {
        case .failure(let error): return error.number
        case .success:
            guard FileCalls.renameat(self.raw, old, directory.raw, new) == 0 else {
                let number = errno
                _ = FileCalls.unlinkat(directory.raw, new, 0)
                return number
            }
            return 0
        }
    }

    /// Creates a file with a hidden temporary name, for filesystems without unnamed files.
    package func createTemporary() throws(StorageError) -> (FileDescriptor, String) {
        for _ in 0..<16 {
            let name = Self.temporaryName()
            switch self.open(name, O_RDWR | O_CREAT | O_EXCL) {
            case .success(let descriptor): return (descriptor, name)
            case .failure(let error) where error.number == EEXIST: continue
            case .failure(let error):
                throw StorageError(
                    errno: error.number,
                    otherwise: .cannotCreate,
                    "cannot create a file in",
                    self.path
                )
            }
        }
        throw StorageError(.cannotCreate, "cannot create a file in '\(self.path)': no free temporary name, try again")
    }

    /// Creates a file for reading and writing that has no name, so that it ends with its descriptor.
    ///
    /// - Throws: ``StorageError``.
    package func createUnnamed() throws(StorageError) -> FileDescriptor {
        switch self.openUnnamed(O_RDWR) {
        case .success(let file): return file
        case .failure(let error) where Self.lacksUnnamedFiles(error.number):
            let (file, name) = try self.createTemporary()
            try self.unlink(name)
            return file
        case .failure(let error):
            throw StorageError(errno: error.number, otherwise: .cannotCreate, "cannot create a file in", self.path)
        }
    }

    /// Whether an error of ``openUnnamed(_:)`` means that the filesystem does not support unnamed files.
    package static func lacksUnnamedFiles(_ number: Int32) -> Bool {
        number == EOPNOTSUPP || number == EISDIR || number == EINVAL || number == ENOSYS
    }
}
