/// A directory and a name in it.
public struct FileTarget: Hashable, Sendable {
    /// The directory's path, absolute or relative to the working directory.
    ///
    /// Created, with its parents, by the first write.
    public var directory: String
    /// The final name: one safe path component (see `FileName`).
    public var name: String

    /// Creates a target.
    public init(directory: String, name: String) {
        self.directory = directory
        self.name = name
    }

    /// The path of the final file.
    public var path: String {
        self.directory.isEmpty || self.directory == "."
            ? self.name
            : self.directory.hasSuffix("/") ? self.directory + self.name : self.directory + "/" + self.name
    }
}
