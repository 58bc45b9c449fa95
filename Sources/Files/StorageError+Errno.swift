// SPDX-License-Identifier: Apache-2.0
import Platform
package import TransferCore

extension StorageError {
    /// Maps an error number of the system to a storage error; the only place where this is done.
    ///
    /// - Parameters:
    ///   - number: The value of `errno`, see errno(3).
    ///   - otherwise: The code for numbers that do not determine one.
    ///   - doing: The failed operation, such as "cannot create".
    ///   - path: The path of the file or directory.
    package init(errno number: Int32, otherwise: Code, _ doing: String, _ path: String) {
        let cause = "\(doing) '\(path)': \(Self.text(number))"
        switch number {
        case ENOSPC:
            self.init(.noSpace, cause + "; free some space and try again", errno: number)
        case EDQUOT:
            self.init(.noSpace, cause + "; free some of your quota and try again", errno: number)
        case EFBIG:
            self.init(
                .noSpace,
                cause + "; raise the limit (ulimit -f), or choose a filesystem that supports larger files",
                errno: number
            )
            // The limit of one file, not of the file system.
            self.concernsFileSystem = false
        case EMFILE, ENFILE, ENOMEM: self.init(.tooManyFiles, cause + Self.remedy(number), errno: number)
        case EEXIST, EISDIR, ENOTEMPTY:
            self.init(.exists, cause + "; choose another name or move it away", errno: number)
        default:
            self.init(otherwise, cause + Self.remedy(number), errno: number)
            self.concernsFileSystem = number == EROFS
        }
    }

    /// strerror(3) without its shared buffer.
    private static func text(_ number: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer -> String in
            guard let base = buffer.baseAddress, strerror_r(number, base, buffer.count) == 0 else {
                return "error \(number)"
            }
            return String(cString: base)
        }
    }

    private static func remedy(_ number: Int32) -> String {
        switch number {
        case EACCES, EPERM: "; check the permissions of the file and its directory"
        case EROFS: "; the filesystem is mounted read-only, choose another directory"
        case ENOENT: "; the directory no longer exists, create it again or choose another"
        case ENOTDIR: "; part of the path is not a directory, choose another"
        case ENAMETOOLONG: "; choose a shorter name"
        case ELOOP: "; it is a symbolic link, which is never followed"
        case EMFILE: "; raise the limit of open files (ulimit -n) or transfer fewer files at once"
        case ENFILE: "; the whole system has too many open files, close some programs"
        case EIO: "; the device reports a failure, check it"
        case ESTALE: "; the network filesystem lost the file, mount it again"
        case EXDEV: "; the two directories are on different filesystems"
        default: ""
        }
    }
}
