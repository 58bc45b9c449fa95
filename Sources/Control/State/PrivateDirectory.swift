// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// Checks that a directory belongs to the user and that no other user can write to it.
enum PrivateDirectory {
    /// Checks owner and mode of a directory.
    ///
    /// - Parameters:
    ///   - path: The directory; a symbolic link in its place is refused.
    ///   - permissions: The permissions that group and others may have, as the low six bits of a mode.
    /// - Throws: ``ControlError`` with `forbidden` and a remedy.
    static func check(_ path: String, allowing permissions: UInt32) throws(ControlError) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            throw ControlError(.storage, "cannot examine '\(path)': \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw ControlError(
                .forbidden,
                "'\(path)' is not a directory",
                remedy: "move it away, or set another --state-dir"
            )
        }
        guard status.st_uid == geteuid() else {
            throw ControlError(
                .forbidden,
                "'\(path)' belongs to user \(status.st_uid), but this process runs as user \(geteuid())",
                remedy: "set another directory with --state-dir, or run as that user"
            )
        }
        guard UInt32(status.st_mode) & 0o077 & ~permissions == 0 else {
            throw ControlError(
                .forbidden,
                "other users can write to '\(path)'" + (permissions == 0 ? ", or read it" : ""),
                remedy: "run: chmod \(permissions == 0 ? "700" : "go-w") '\(path)'"
            )
        }
    }
}
