// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform
internal import TransferCore

/// Finds the files and directories below a directory, one by one; its memory does not depend on their number.
///
/// Finds what the client could also request by name. Links to directories are left out below the first level, because
/// they may form cycles.
struct TreeWalk {
    /// A file or a directory.
    struct Item {
        /// The names from the first directory.
        var names: [String]
        var entry: TreeEntry
        var status: stat
    }

    private struct Level {
        var stream: DirectoryStream
        var names: [String]
    }

    /// The maximum number of names in a path that can be requested.
    private static let deepest = 64

    private let tree: ServedTree
    private let base: [String]
    private var levels: [Level] = []
    private var selected: [String]

    /// - Parameters:
    ///   - directory: The directory.
    ///   - path: Its path.
    ///   - tree: The tree that contains it.
    ///   - selection: The entries of the directory to find, or `nil` for all.
    /// - Throws: ``TreeError`` if the directory cannot be read.
    init(
        _ directory: OpenFile,
        at path: TreePath,
        of tree: ServedTree,
        selection: [String]?
    ) throws(TreeError) {
        self.tree = tree
        self.base = path.names
        self.selected = (selection ?? []).reversed()
        if selection == nil { self.levels = [Level(stream: try DirectoryStream(directory), names: [])] }
    }

    /// The next item, or `nil` at the end; blocks.
    ///
    /// - Throws: ``TreeError`` if a directory or file cannot be read because of an error, or a selected entry does not
    ///   exist. Others that do not exist any more or must not be read are left out.
    mutating func next() throws(TreeError) -> Item? {
        while let level = self.levels.last {
            guard let name = try level.stream.next() else {
                self.levels.removeLast()
                continue
            }
            guard name != "", name != ".", name != "..", self.tree.isServed(name) else { continue }
            do throws(TreeError) {
                if let item = try self.visit(level.names + [name], isSelected: false) { return item }
            } catch {
                guard error == .notFound || error == .forbidden else { throw error }
            }
        }
        guard let name = self.selected.popLast() else { return nil }
        guard let item = try self.visit([name], isSelected: true) else { throw .notFound }
        return item
    }

    private mutating func visit(_ names: [String], isSelected: Bool) throws(TreeError) -> Item? {
        let path = self.base + names
        guard path.count <= Self.deepest else { return nil }
        switch try self.tree.open(TreePath(names: path)) {
        case .file(let file, let facts):
            guard let status = file.status() else { throw .failed }
            return Item(names: names, entry: .file(file, facts), status: status)
        case .directory(let directory):
            guard isSelected || !self.isLink(path), let status = directory.status() else { return nil }
            self.levels.append(Level(stream: try DirectoryStream(directory), names: names))
            return Item(names: names, entry: .directory(directory), status: status)
        }
    }

    private func isLink(_ path: [String]) -> Bool {
        var status = stat()
        let text = path.joined(separator: "/")
        return fstatat(self.tree.root.raw, text, &status, AT_SYMLINK_NOFOLLOW) != 0
            || status.st_mode & S_IFMT == S_IFLNK
    }
}
