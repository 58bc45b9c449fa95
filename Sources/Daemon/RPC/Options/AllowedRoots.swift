// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Platform

/// The directories that callers over the network may access, without their hidden files and the daemon's own.
///
/// A path is resolved before the check: symbolic links are followed in its longest existing prefix, and the rest must
/// not contain `..`. Below a root no component may begin with a dot: such files configure programs and contain secrets.
struct AllowedRoots: Sendable, Hashable {
    /// The directories, absolute.
    let roots: [String]
    /// The daemon's state directory, absolute, which no caller may access; empty if there is none.
    var stateDirectory = ""

    /// Checks a path.
    ///
    /// - Parameters:
    ///   - path: The path, absolute.
    ///   - what: The name of its option, for the message.
    /// - Throws: `forbidden` if it resolves to a path outside of every root, to a hidden file below all of those that
    ///   contain it, or to the state directory.
    func check(_ path: String, for what: String) throws(ControlError) {
        let shown = "'--\(what)': \"\(path.prefix(256))\""
        guard let real = Self.resolve(path) else { throw Self.outside(shown) }
        if let state = Self.resolve(self.stateDirectory), Self.remainder(of: real, below: state) != nil {
            throw ControlError(
                .forbidden,
                "\(shown) is the daemon's state directory, or inside it",
                remedy: "choose another directory"
            )
        }
        var isHidden = false
        for root in self.roots {
            guard let root = Self.resolve(root), let rest = Self.remainder(of: real, below: root) else { continue }
            guard rest.split(separator: "/").contains(where: { $0.hasPrefix(".") }) else { return }
            isHidden = true
        }
        guard isHidden else { throw Self.outside(shown) }
        throw ControlError(
            .forbidden,
            "\(shown) is hidden: a component of its path begins with a dot",
            remedy: "choose another name, allow its directory with --allow-dir, or use the daemon's Unix socket"
        )
    }

    private static func outside(_ shown: String) -> ControlError {
        ControlError(
            .forbidden,
            "\(shown) is outside the allowed directories",
            remedy: "allow its directory with --allow-dir, or choose an allowed directory"
        )
    }

    /// The part of a resolved path below a resolved directory, empty for that itself; `nil` if it is not inside.
    private static func remainder(of path: String, below directory: String) -> Substring? {
        if path == directory { return "" }
        let prefix = directory == "/" ? "/" : directory + "/"
        return path.hasPrefix(prefix) ? path.dropFirst(prefix.count) : nil
    }

    /// Returns the path with its symbolic links resolved, or `nil` if it cannot be resolved.
    ///
    /// - Source: realpath(3), faccessat(2).
    static func resolve(_ path: String) -> String? {
        guard path.hasPrefix("/"), path.utf8.count <= 4096, !path.utf8.contains(0) else { return nil }
        let parts = path.split(separator: "/").map(String.init).filter { $0 != "." }
        for count in stride(from: parts.count, through: 0, by: -1) {
            let prefix = "/" + parts[..<count].joined(separator: "/")
            guard FileCalls.faccessat(AT_FDCWD, prefix, F_OK, AT_SYMLINK_NOFOLLOW) == 0 else {
                // A path that may not be examined is not missing.
                guard errno == ENOENT || errno == ENOTDIR else { return nil }
                continue
            }
            // A dangling link: creating the file would follow it.
            guard let real = FileCalls.realpath(prefix) else { return nil }
            let rest = parts[count...]
            guard !rest.contains("..") else { return nil }
            return rest.isEmpty ? real : (real == "/" ? "" : real) + "/" + rest.joined(separator: "/")
        }
        return nil
    }
}
