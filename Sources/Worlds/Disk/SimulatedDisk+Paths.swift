// SPDX-License-Identifier: Apache-2.0
import Platform

/// Resolves paths.
struct DiskPath {
    /// The directory of the last name; `nil` if the path has none, as `/` and `..`.
    var parent: DiskNode?
    var name = ""
    var node: DiskNode?
    /// Whether the path ends with a slash, so that it must be a directory.
    var requiresDirectory = false
}

/// The number of an error of a simulated call.
struct DiskError: Error {
    var number: Int32

    init(_ number: Int32) { self.number = number }
}

extension SimulatedDisk {
    private static let longestName = 255
    private static let longestPath = 4096
    private static let mostLinks = 40

    /// Finds what a path means (path_resolution(7)); an absent last name is not an error.
    ///
    /// With `creating`, a last name with a slash is an error, as it is for `O_CREAT`. With `changing`, the last name itself
    /// is meant, whatever it is.
    func find(
        _ directory: Int32,
        _ path: String,
        follow: Bool,
        creating: Bool = false,
        changing: Bool = false
    ) throws(DiskError) -> DiskPath {
        var start = self.root
        if directory != AT_FDCWD, !path.utf8.starts(with: "/".utf8) {
            let file = try self.file(directory)
            guard file.node.kind == .directory else { throw DiskError(ENOTDIR) }
            start = file.node
        }
        guard !path.isEmpty else { throw DiskError(ENOENT) }
        guard path.utf8.count < Self.longestPath else { throw DiskError(ENAMETOOLONG) }
        var links = 0
        return try self.find(from: start, path, follow: follow, creating: creating, changing: changing, &links)
    }

    private func find(
        from start: DiskNode,
        _ path: String,
        follow: Bool,
        creating: Bool = false,
        changing: Bool = false,
        _ links: inout Int
    ) throws(DiskError) -> DiskPath {
        let utf8 = path.utf8
        // The most frequent path: a name.
        if !utf8.contains(0x2F), path != ".", path != ".." {
            return try self.step(start, path, isLast: true, follow: follow, &links)
        }
        var current = utf8.first == 0x2F ? self.root : start
        let names = path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        var found = DiskPath(node: current)
        let requiresDirectory = utf8.last == 0x2F
        for (index, name) in names.enumerated() {
            let isLast = index == names.count - 1
            if isLast, creating, requiresDirectory, name != ".", name != ".." { throw DiskError(EISDIR) }
            found = try self.step(
                current,
                name,
                isLast: isLast,
                follow: follow || requiresDirectory && !changing,
                &links
            )
            if isLast { break }
            guard let node = found.node else { throw DiskError(ENOENT) }
            current = node
        }
        found.requiresDirectory = requiresDirectory
        if requiresDirectory, !changing, let node = found.node, node.kind != .directory { throw DiskError(ENOTDIR) }
        return found
    }

    private func step(
        _ directory: DiskNode,
        _ name: String,
        isLast: Bool,
        follow: Bool,
        _ links: inout Int
    ) throws(DiskError) -> DiskPath {
        guard directory.kind == .directory else { throw DiskError(ENOTDIR) }
        guard name.utf8.count <= Self.longestName else { throw DiskError(ENAMETOOLONG) }
        if name == "." { return DiskPath(name: name, node: directory) }
        if name == ".." { return DiskPath(name: name, node: directory.parent ?? directory) }
        guard let node = directory.entries[name] else { return DiskPath(parent: directory, name: name) }
        guard node.kind == .link, !isLast || follow else { return DiskPath(parent: directory, name: name, node: node) }
        links += 1
        guard links <= Self.mostLinks else { throw DiskError(ELOOP) }
        return try self.find(from: directory, node.destination, follow: true, &links)
    }

    func file(_ descriptor: Int32) throws(DiskError) -> DiskOpenFile {
        let index = Int(descriptor) - Int(Self.firstDescriptor)
        guard index >= 0 else { throw DiskError(EBADF) }
        let (process, slot) = (index / Self.mostDescriptors, index % Self.mostDescriptors)
        guard process < self.tables.count, slot < self.tables[process].count,
            let file = self.tables[process][slot]
        else { throw DiskError(EBADF) }
        return file
    }

    /// Gives an open file the lowest free descriptor of a process.
    func install(_ file: DiskOpenFile, _ process: Int) throws(DiskError) -> Int32 {
        while self.tables.count <= process { self.tables.append([]) }
        let slot = self.tables[process].firstIndex { $0 == nil } ?? self.tables[process].count
        guard slot < min(self.descriptorLimit, Self.mostDescriptors) else { throw DiskError(EMFILE) }
        if slot == self.tables[process].count {
            self.tables[process].append(file)
        } else {
            self.tables[process][slot] = file
        }
        return Self.firstDescriptor + Int32(process * Self.mostDescriptors + slot)
    }

    /// Opens a node for a process.
    func install(_ node: DiskNode, _ path: String, _ flags: Int32, _ process: Int) throws(DiskError) -> Int32 {
        let access = flags & O_ACCMODE
        let file = DiskOpenFile(
            node,
            path,
            readable: access != O_WRONLY,
            writable: access != O_RDONLY,
            appends: flags & O_APPEND != 0
        )
        let descriptor = try self.install(file, process)
        node.openings += 1
        return descriptor
    }

    /// Closes a descriptor of an open file.
    func release(_ file: DiskOpenFile) {
        file.descriptors -= 1
        guard file.descriptors == 0 else { return }
        if file.node.lock === file { file.node.lock = nil }
        file.node.openings -= 1
        self.freeIfUnused(file.node)
    }

    /// Makes a call that fails with an error number.
    @inline(__always)
    func attempt(_ body: () throws(DiskError) -> Int32) -> Int32 {
        do throws(DiskError) { return try body() } catch { return self.fail(error.number) }
    }
}
