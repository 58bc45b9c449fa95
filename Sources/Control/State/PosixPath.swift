// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// Functions on file paths.
package enum PosixPath {
    /// The absolute path, resolved against the working directory; symbolic links and `..` are not resolved.
    package static func absolute(_ path: String) -> String {
        let whole: String
        if path.hasPrefix("/") {
            whole = path
        } else if let working = getcwd(nil, 0) {
            defer { free(working) }
            whole = String(cString: working) + "/" + path
        } else {
            whole = "/" + path
        }
        return "/" + whole.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    /// Why a file cannot be sent, such as "cannot be read: No such file or directory"; `nil` if it can.
    package static func problem(reading path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            return "cannot be read: \(String(cString: strerror(errno)))"
        }
        return status.st_mode & S_IFMT == S_IFREG ? nil : "is not a regular file"
    }

    /// The absolute path with symbolic links resolved in the part that exists.
    static func canonical(_ path: String) -> String {
        var existing = self.absolute(path)
        var missing: [Substring] = []
        while true {
            if let resolved = realpath(existing, nil) {
                defer { free(resolved) }
                let base = String(cString: resolved)
                guard !missing.isEmpty else { return base }
                return (base == "/" ? "" : base) + "/" + missing.reversed().joined(separator: "/")
            }
            guard existing != "/", let slash = existing.lastIndex(of: "/") else { return self.absolute(path) }
            missing.append(existing[existing.index(after: slash)...])
            existing = self.parent(existing)
        }
    }

    /// The path up to its last slash.
    static func parent(_ path: String) -> String {
        let directory = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
        return directory.isEmpty ? "/" : String(directory)
    }

    /// The target of a symbolic link; `nil` if the path is not one.
    static func linkTarget(_ path: String) -> String? {
        var target = [UInt8](repeating: 0, count: 4096)
        let count = target.withUnsafeMutableBytes { buffer in
            buffer.withMemoryRebound(to: CChar.self) { characters in
                characters.baseAddress.map { readlink(path, $0, characters.count) } ?? -1
            }
        }
        return count > 0 && count < target.count ? String(decoding: target[..<count], as: UTF8.self) : nil
    }

    /// Creates a directory and its missing parents, with mode 0700 (XDG Base Directory Specification).
    static func makeDirectories(_ path: String) throws(ControlError) {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, path != "/" else { throw self.cannotMake(path) }
        try self.makeDirectories(self.parent(path))
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw self.cannotMake(path) }
    }

    /// The error for a failed creation, from `errno`.
    static func cannotMake(_ path: String) -> ControlError {
        let reason = errno
        return ControlError(
            reason == ENOSPC || reason == EDQUOT ? .diskFull : .storage,
            "cannot create '\(path)': \(String(cString: strerror(reason)))",
            remedy: "set a writable directory with --state-dir or MARTLET_STATE_DIR"
        )
    }
}
