// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import TransferCore

/// The directory for downloads without a destination.
enum TemporaryPlace {
    /// `$TMPDIR/martlet-UID`, or the same below `/tmp`.
    static var `default`: String {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        return (base.hasSuffix("/") ? base : base + "/") + "martlet-\(geteuid())"
    }

    /// Creates a directory, accessible to its owner only, and refuses one that belongs to another user.
    ///
    /// - Parameters:
    ///   - path: The directory.
    ///   - purpose: What it is for.
    ///   - remedy: What to do if it cannot be used.
    /// - Throws: ``TransferError`` with `file`.
    static func prepare(
        _ path: String,
        for purpose: String = "temporary files",
        remedy: String = "set another directory in the session's configuration"
    ) throws(TransferError) {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw TransferError(
                .file,
                "cannot create the directory for \(purpose) '\(path)': \(String(cString: strerror(errno)))",
                remedy: remedy
            )
        }
        var status = stat()
        // A symbolic link made by another user could redirect the files to a location of that user's choice.
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else {
            throw TransferError(
                .file,
                "'\(path)', for \(purpose), is not a directory owned by this user",
                remedy: "remove it, or \(remedy)"
            )
        }
    }

    /// A random name of 24 hexadecimal digits.
    static func name() -> String {
        Hexadecimal.encode((0..<12).map { _ in UInt8.random(in: 0...255) })
    }
}
