// SPDX-License-Identifier: Apache-2.0
import TransferCore
/// Paths of files, as given by the user.
enum FilePath {
    /// Splits a path into its directory and its last component.
    ///
    /// - Throws: ``SyntaxError`` if the path does not end with a file name.
    static func split(
        _ path: String,
        otherwise remedy: String = "end it with the file's name, or use --directory"
    ) throws(SyntaxError) -> (directory: String?, name: String) {
        guard !path.utf8.contains(0) else { throw SyntaxError("a file name contains a NUL; remove it") }
        let bytes = path.utf8
        guard let slash = bytes.lastIndex(of: 0x2F) else {
            guard path != "", path != ".", path != ".." else { throw self.noFile(path, remedy) }
            return (nil, path)
        }
        let name = String(path[bytes.index(after: slash)...])
        guard name != "", name != ".", name != ".." else { throw self.noFile(path, remedy) }
        let directory = String(path[..<slash])
        return (directory.isEmpty ? "/" : directory, name)
    }

    /// Checks that a path stays below the directory to which it is joined: input files may not be trusted.
    ///
    /// - Throws: ``SyntaxError`` if it is absolute or contains `..`.
    static func inside(_ path: String) throws(SyntaxError) -> String {
        guard !path.hasPrefix("/"), !path.split(separator: "/").contains("..") else {
            throw SyntaxError(
                "\"\(DisplayText.clean(path))\" is outside the directory; write a relative name without .., or set dir="
            )
        }
        _ = try self.split(path)
        return path
    }

    /// Joins a directory and a relative path; an absolute path is returned unchanged.
    static func join(_ directory: String, _ path: String?) -> String {
        guard let path else { return directory }
        if path.hasPrefix("/") || directory == "." || directory.isEmpty { return path }
        return directory.hasSuffix("/") ? directory + path : directory + "/" + path
    }

    private static func noFile(_ path: String, _ remedy: String) -> SyntaxError {
        SyntaxError("\"\(DisplayText.clean(path))\" does not name a file; \(remedy)")
    }
}
