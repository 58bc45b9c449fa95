/// The path of a link that hands over one file: `/.martlet-share/TOKEN/NAME`.
enum ShareLink {
    /// The first name of every link.
    static let directory = ".martlet-share"

    /// The path for a token and a file's name.
    static func path(token: String, name: String) -> String { "/\(self.directory)/\(token)/\(TreePath.encode(name))" }

    /// A path fit for a log: the token is who may have the file, and logs are read by others.
    static func masked(_ path: String) -> String {
        // As the router reads it, so that no other spelling of it slips through.
        guard path.utf8.contains(0x2E) || path.utf8.contains(0x25) else { return path }
        guard let read = try? TreePath(parsing: path[...]) else {
            // A link that was mistyped behind its token.
            let names = path.split(separator: "/").map { try? TreePath(parsing: $0).names.first }
            return names.contains(self.directory) ? "/\(self.directory)/-" : path
        }
        guard read.names.first == self.directory, read.names.count > 1 else { return path }
        return "/\(self.directory)/-" + read.names.dropFirst(2).map { "/" + TreePath.encode($0) }.joined()
    }
}
