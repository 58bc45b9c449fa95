/// The user's own file names, which may name directories before the file.
enum FilePath {
    /// Splits a path into its directory and its last component.
    ///
    /// - Throws: ``BadValue`` where it names no file.
    static func split(
        _ path: String,
        otherwise remedy: String = "end it with the file's name, or use --directory"
    ) throws(BadValue) -> (directory: String?, name: String) {
        guard !path.utf8.contains(0) else { throw BadValue("a file's name holds a NUL; take it out") }
        guard let slash = path.lastIndex(of: "/") else {
            guard path != "", path != ".", path != ".." else { throw self.noFile(path, remedy) }
            return (nil, path)
        }
        let name = String(path[path.index(after: slash)...])
        guard name != "", name != ".", name != ".." else { throw self.noFile(path, remedy) }
        let directory = String(path[..<slash])
        return (directory.isEmpty ? "/" : directory, name)
    }

    /// Checks that a path stays below the directory it is joined to: a list may come from somebody else.
    ///
    /// - Throws: ``BadValue`` where it is absolute or climbs.
    static func inside(_ path: String) throws(BadValue) -> String {
        guard !path.hasPrefix("/"), !path.split(separator: "/").contains("..") else {
            throw BadValue(
                "\"\(DisplayText.clean(path))\" leads out of the directory; write a name below it, or set dir="
            )
        }
        _ = try self.split(path)
        return path
    }

    /// Joins a directory and what lies below it; an absolute path stands alone.
    static func join(_ directory: String, _ path: String?) -> String {
        guard let path else { return directory }
        if path.hasPrefix("/") || directory == "." || directory.isEmpty { return path }
        return directory.hasSuffix("/") ? directory + path : directory + "/" + path
    }

    private static func noFile(_ path: String, _ remedy: String) -> BadValue {
        BadValue("\"\(DisplayText.clean(path))\" names no file; \(remedy)")
    }
}
