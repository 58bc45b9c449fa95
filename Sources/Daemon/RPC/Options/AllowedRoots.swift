// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Platform

/// The directories that callers over the network may access.
///
/// A path is resolved before the check: symbolic links are followed in its longest existing prefix, and the rest must
/// not contain `..`.
struct AllowedRoots: Sendable, Hashable {
    /// The directories, absolute.
    let roots: [String]

    /// Checks a path.
    ///
    /// - Parameters:
    ///   - path: The path, absolute.
    ///   - what: The name of its option, for the message.
    /// - Throws: `forbidden` if it resolves to a path outside of every root.
    func check(_ path: String, for what: String) throws(ControlError) {
        if let real = Self.resolve(path) {
            for root in self.roots {
                guard let realRoot = Self.resolve(root) else { continue }
                if real == realRoot || real.hasPrefix(realRoot == "/" ? "/" : realRoot + "/") { return }
            }
        }
        throw ControlError(
            .forbidden,
            "'--\(what)': \"\(path.prefix(256))\" is outside the allowed directories",
            remedy: "allow its directory with --allow-dir, or choose an allowed directory"
        )
    }

    /// Returns the path with its symbolic links resolved, or `nil` if it cannot be resolved.
    ///
    /// - Source: realpath(3), faccessat(2).
    static func resolve(_ path: String) -> String? {
        guard path.hasPrefix("/"), path.utf8.count <= 4096, !path.utf8.contains(0) else { return nil }
        let parts = path.split(separator: "/").map(String.init).filter { $0 != "." }
        for count in stride(from: parts.count, through: 0, by: -1) {
            let prefix = "/" + parts[..<count].joined(separator: "/")
            guard faccessat(AT_FDCWD, prefix, F_OK, AT_SYMLINK_NOFOLLOW) == 0 else {
                // A path that may not be examined is not missing.
                guard errno == ENOENT || errno == ENOTDIR else { return nil }
                continue
            }
            // A dangling link: creating the file would follow it.
            guard let resolved = realpath(prefix, nil) else { return nil }
            defer { free(resolved) }
            let rest = parts[count...]
            guard !rest.contains("..") else { return nil }
            let real = String(cString: resolved)
            return rest.isEmpty ? real : (real == "/" ? "" : real) + "/" + rest.joined(separator: "/")
        }
        return nil
    }
}
