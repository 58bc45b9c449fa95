// SPDX-License-Identifier: Apache-2.0
import Platform

/// Access to the files for the world and its judge, without a process and without faults.
extension SimulatedDisk {
    /// Creates or replaces a file, and the directories that it needs; all of it is durable.
    package func put(_ path: String, _ bytes: [UInt8]) {
        guard let (directory, name) = self.place(path) else { return }
        let node = self.makeNode(.file, mode: 0o644)
        bytes.withUnsafeBytes { content in
            if let base = content.baseAddress { self.usedPages += node.content.write(base, content.count, at: 0) }
        }
        let old = directory.entries[name]
        self.change([.init(directory: directory, name: name, node: node)])
        self.freeIfUnused(old)
        self.syncNames()
        node.content.sync()
    }

    /// Writes bytes into a file as another program does, at an offset; returns whether it exists.
    @discardableResult
    package func change(_ path: String, _ bytes: [UInt8], at offset: Int) -> Bool {
        guard let node = self.node(path), node.kind == .file else { return false }
        let before = node.content.size
        bytes.withUnsafeBytes { content in
            if let base = content.baseAddress { self.usedPages += node.content.write(base, content.count, at: offset) }
        }
        self.changedContent(of: node, sizeBefore: before)
        node.content.sync()
        return true
    }

    /// Creates a directory, and those above it; all of them are durable.
    package func makeDirectories(_ path: String) {
        _ = self.place(path + "/x")
        self.syncNames()
    }

    /// Creates a symbolic link.
    package func putLink(_ path: String, to destination: String) {
        guard let (directory, name) = self.place(path) else { return }
        let node = self.makeNode(.link, mode: 0o777)
        node.destination = destination
        self.change([.init(directory: directory, name: name, node: node)])
        self.syncNames()
    }

    /// Removes a name, and if it is a directory what is in it; returns whether it existed.
    @discardableResult
    package func remove(_ path: String) -> Bool {
        guard let found = try? self.find(AT_FDCWD, path, follow: false), let node = found.node,
            let parent = found.parent
        else { return false }
        for name in node.entries.keys.sorted() { self.remove(path + "/" + name) }
        self.change([.init(directory: parent, name: found.name, node: nil)])
        self.freeIfUnused(node)
        self.syncNames()
        return true
    }

    /// The content of a file; `nil` if it is not a regular file.
    package func contents(_ path: String) -> [UInt8]? {
        guard let node = self.node(path), node.kind == .file else { return nil }
        let count = node.content.size
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            if let base = buffer.baseAddress { filled = node.content.read(base, count, at: 0) }
        }
    }

    /// The names in a directory, in their order; empty if it does not exist.
    package func names(inDirectory path: String) -> [String] { self.node(path)?.entries.keys.sorted() ?? [] }

    /// Whether a path exists; the last name is not followed.
    package func exists(_ path: String) -> Bool { self.node(path) != nil }

    /// The number of a file, which no other file ever has.
    package func identity(_ path: String) -> UInt64? { self.node(path)?.number }

    /// The value of an attribute of a file.
    package func attribute(_ path: String, _ name: String) -> [UInt8]? { self.node(path)?.facts.attributes[name] }

    /// When a file was last modified, in nanoseconds since 1970.
    package func modified(_ path: String) -> Int64? { self.node(path)?.facts.modified }

    /// The occupied bytes.
    package var used: Int64 { Int64(self.usedPages) * Int64(Self.page) }

    private func node(_ path: String) -> DiskNode? { (try? self.find(AT_FDCWD, path, follow: false))?.node }

    /// The directory of a path, which is created if it does not exist, and the last name.
    private func place(_ path: String) -> (DiskNode, String)? {
        var directory = self.root
        var names = path.split(separator: "/").map(String.init)
        guard let last = names.popLast() else { return nil }
        for name in names {
            if directory.entries[name] == nil {
                let node = self.makeNode(.directory, mode: 0o755)
                self.change([.init(directory: directory, name: name, node: node)])
            }
            guard let next = directory.entries[name], next.kind == .directory else { return nil }
            directory = next
        }
        return (directory, last)
    }
}
