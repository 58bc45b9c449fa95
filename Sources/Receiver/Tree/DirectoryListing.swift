// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform

/// The contents of a directory.
struct DirectoryListing: Sendable, Hashable {
    struct Entry: Sendable, Hashable {
        var name: String
        var isDirectory: Bool
        /// The size in bytes; 0 for a directory.
        var size: Int64
        /// The modification time, in seconds since 1970.
        var modified: Int64
    }

    /// Directories first, then by name.
    var entries: [Entry]
    /// Whether the listing was truncated.
    var isCut: Bool

    /// The approximate memory of the listing, in bytes.
    var memory: Int { self.entries.reduce(0) { $0 + 64 + $1.name.utf8.count } }

    /// The number of entries after which the reader checks whether the listing is still wanted.
    private static let interval = 256

    /// The maximum number of entries in a listing.
    static let longest = 100_000

    /// Reads a directory; blocks.
    ///
    /// - Parameters:
    ///   - directory: The open directory.
    ///   - tree: The tree that contains it and decides which names are visible.
    ///   - path: The directory's names from the tree's root.
    ///   - isWanted: Whether the listing is still wanted; called now and then.
    /// - Returns: The listing, or `nil` if it is not wanted any more.
    /// - Throws: ``TreeError`` if the directory cannot be read.
    static func read(
        _ directory: OpenFile,
        of tree: ServedTree,
        at path: [String],
        while isWanted: () -> Bool = { true }
    ) throws(TreeError) -> DirectoryListing? {
        guard isWanted() else { return nil }
        let stream = try DirectoryStream(directory)
        var entries: [Entry] = []
        var isCut = false
        var seen = 0
        while let name = try stream.next() {
            seen += 1
            if seen % Self.interval == 0, !isWanted() { return nil }
            guard name != "", name != ".", name != "..", tree.isServed(name) else { continue }
            guard entries.count < Self.longest else {
                isCut = true
                break
            }
            if let entry = Self.entry(directory, name, tree, path) { entries.append(entry) }
        }
        guard isWanted() else { return nil }
        entries.sort { $0.isDirectory == $1.isDirectory ? $0.name < $1.name : $0.isDirectory }
        return DirectoryListing(entries: entries, isCut: isCut)
    }

    /// The entry for a file or directory; a symlink is listed as its target if that is in the tree.
    private static func entry(_ directory: OpenFile, _ name: String, _ tree: ServedTree, _ path: [String]) -> Entry? {
        var status = stat()
        guard fstatat(directory.raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        if status.st_mode & S_IFMT == S_IFLNK {
            guard case .success(let target) = tree.resolve(path + [name], BeneathOpen.pathOnly),
                let followed = target.status()
            else { return nil }
            status = followed
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            return Entry(
                name: name,
                isDirectory: false,
                size: Int64(status.st_size),
                modified: Int64(status.modificationTime.tv_sec)
            )
        case S_IFDIR:
            let modified = Int64(status.modificationTime.tv_sec)
            return Entry(name: name, isDirectory: true, size: 0, modified: modified)
        default: return nil
        }
    }
}
