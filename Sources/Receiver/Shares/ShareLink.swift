/// The path of a share link: `/.martlet-share/TOKEN/NAME`.
enum ShareLink {
    /// The first name of every link's path.
    static let directory = ".martlet-share"

    /// The path for a token and a file name.
    static func path(token: String, name: String) -> String { "/\(self.directory)/\(token)/\(TreePath.encode(name))" }

    /// Removes the token from a path for the log: the token grants access to the file.
    static func masked(_ path: String) -> String {
        // Parsed as the router does it, so that no other spelling of the path keeps its token.
        guard path.utf8.contains(0x2E) || path.utf8.contains(0x25) else { return path }
        guard let read = try? TreePath(parsing: path[...]) else {
            // A link with a malformed part after its token.
            let names = path.split(separator: "/").map { try? TreePath(parsing: $0).names.first }
            return names.contains(self.directory) ? "/\(self.directory)/-" : path
        }
        guard read.names.first == self.directory, read.names.count > 1 else { return path }
        return "/\(self.directory)/-" + read.names.dropFirst(2).map { "/" + TreePath.encode($0) }.joined()
    }
}
