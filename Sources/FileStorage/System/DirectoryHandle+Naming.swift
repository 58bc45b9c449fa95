import Glibc
internal import TransferCore
import TransferEngine

extension DirectoryHandle {
    /// A hidden name that nobody else has chosen: `.martlet-` and eight random characters.
    static func temporaryName() -> String {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var name = Array(".martlet-".utf8)
        var random = SystemRandomNumberGenerator()
        for _ in 0..<8 { name.append(alphabet[Int.random(in: 0..<alphabet.count, using: &random)]) }
        return String(decoding: name, as: UTF8.self)
    }

    /// Whether a name is such a one: what a kill in the middle of a replacement left.
    static func isTemporary(_ name: String) -> Bool { name.hasPrefix(".martlet-") && name.utf8.count == 17 }

    /// Gives an unnamed file a name (linkat(2)); 0, or the error number, `EEXIST` where the name is taken.
    ///
    /// By descriptor where the kernel lets us (a capability, or Linux 6.10), which spares the walk through /proc.
    func link(_ descriptor: FileDescriptor, as name: String) -> Int32 {
        var result = linkat(descriptor.raw, "", self.raw, name, LinuxCalls.emptyPath) == 0 ? 0 : errno
        if result == ENOENT || result == EPERM || result == EINVAL {
            let path = "/proc/self/fd/\(descriptor.raw)"
            result = linkat(AT_FDCWD, path, self.raw, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno
        }
        if result == 0 { self.listing.note(name) }
        return result
    }

    /// Gives an unnamed file a name, replacing a file that has it.
    func linkReplacing(_ descriptor: FileDescriptor, as name: String) -> Int32 {
        let direct = self.link(descriptor, as: name)
        guard direct == EEXIST else { return direct }
        for _ in 0..<16 {
            let temporary = Self.temporaryName()
            let result = self.link(descriptor, as: temporary)
            if result == EEXIST { continue }
            guard result == 0 else { return result }
            guard renameat(self.raw, temporary, self.raw, name) == 0 else {
                let number = errno
                _ = unlinkat(self.raw, temporary, 0)
                return number
            }
            return 0
        }
        return EEXIST
    }

    /// Renames a name of this directory; 0, or the error number.
    ///
    /// `EEXIST` where the new name is taken and `replacing` is false. Never replaces in that case, on any filesystem.
    package func rename(_ old: String, to directory: DirectoryHandle, _ new: String, replacing: Bool) -> Int32 {
        defer { directory.listing.note(new) }
        if replacing {
            return renameat(self.raw, old, directory.raw, new) == 0 ? 0 : errno
        }
        if LinuxCalls.renameWithoutReplacing(self.raw, old, directory.raw, new) == 0 { return 0 }
        guard errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP else { return errno }
        if linkat(self.raw, old, directory.raw, new, 0) == 0 {
            return unlinkat(self.raw, old, 0) == 0 ? 0 : errno
        }
        guard errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS else { return errno }
        // Neither call on this filesystem (FAT): hold the name with an empty file of ours, then replace that.
        switch directory.open(new, O_WRONLY | O_CREAT | O_EXCL) {
        case .failure(let error): return error.number
        case .success:
            guard renameat(self.raw, old, directory.raw, new) == 0 else {
                let number = errno
                _ = unlinkat(directory.raw, new, 0)
                return number
            }
            return 0
        }
    }

    /// Creates a file with a hidden temporary name; for filesystems without unnamed files.
    func createTemporary() throws(StorageError) -> (FileDescriptor, String) {
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

    /// Whether an error of `openUnnamed` means that this filesystem knows no unnamed files.
    static func lacksUnnamedFiles(_ number: Int32) -> Bool {
        number == EOPNOTSUPP || number == EISDIR || number == EINVAL || number == ENOSYS
    }
}
