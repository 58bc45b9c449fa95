// SPDX-License-Identifier: Apache-2.0
import Platform
package import TransferCore

extension AtomicFile {
    /// Replaces the file that a path leads to, or writes to it if it is a device or a pipe; may block for a pipe.
    ///
    /// A symbolic link remains, and its target is replaced: a user may keep a file elsewhere. A device must not be
    /// replaced by a file, as root could replace `/dev/null`.
    ///
    /// - Parameters:
    ///   - bytes: The new content.
    ///   - path: The path; the directory of its file must exist.
    /// - Throws: ``StorageError`` as ``replace(_:with:mode:)``; `.exists` if the path is a directory.
    package static func write(_ bytes: [UInt8], toFileOrDevice path: String) throws(StorageError) {
        var status = stat()
        guard !path.utf8.contains(0), FileCalls.stat(path, &status) == 0 else {
            return try self.replace(path, with: bytes)
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFDIR: try self.replace(FileCalls.realpath(path) ?? path, with: bytes)
        default: try self.append(bytes, toDevice: path)
        }
    }

    private static func append(_ bytes: [UInt8], toDevice path: String) throws(StorageError) {
        var raw: Int32
        repeat { raw = FileCalls.open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY) } while raw < 0 && errno == EINTR
        guard raw >= 0 else { throw StorageError(errno: errno, otherwise: .cannotOpen, "cannot open", path) }
        let file = FileDescriptor(raw)
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { FileCalls.write(file.raw, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw StorageError(errno: errno, otherwise: .inputOutput, "cannot write", path) }
            rest = rest.dropFirst(count)
        }
    }
}
