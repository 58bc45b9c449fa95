// SPDX-License-Identifier: Apache-2.0
package import Platform

extension SimulatedDisk {
    // MARK: Opening

    /// openat(2).
    package func open(_ directory: Int32, _ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
        let process = self.owner(directory)
        let changes = flags & (O_CREAT | O_TRUNC) != 0
        return self.call("openat", process, path, changes: changes, failed: -1) { _ in
            self.attempt { () throws(DiskError) in try self.open(directory, path, flags, mode, process) }
        }
    }

    private func open(_ directory: Int32, _ path: String, _ flags: Int32, _ mode: mode_t, _ process: Int)
        throws(DiskError) -> Int32
    {
        let isExclusive = flags & O_CREAT != 0 && flags & O_EXCL != 0
        let found = try self.find(
            directory,
            path,
            follow: flags & O_NOFOLLOW == 0 && !isExclusive,
            creating: flags & O_CREAT != 0
        )
        let isWriting = flags & O_ACCMODE != O_RDONLY
        if let node = found.node {
            if isExclusive { throw DiskError(EEXIST) }
            if flags & O_DIRECTORY != 0, node.kind != .directory { throw DiskError(ENOTDIR) }
            if node.kind == .link { throw DiskError(ELOOP) }
            if node.kind == .directory, isWriting || flags & O_CREAT != 0 { throw DiskError(EISDIR) }
            if self.isReadOnly, isWriting || flags & O_TRUNC != 0 { throw DiskError(EROFS) }
            let descriptor = try self.install(node, path, flags, process)
            if flags & O_TRUNC != 0, node.kind == .file { self.truncate(node, 0) }
            return descriptor
        }
        guard flags & O_CREAT != 0 else { throw DiskError(ENOENT) }
        let parent = try self.writable(found)
        let node = self.makeNode(.file, mode: UInt32(mode) & 0o7755)
        let descriptor = try self.install(node, path, flags, process)
        self.change([.init(directory: parent, name: found.name, node: node)])
        return descriptor
    }

    /// The directory in which a name can be created.
    private func writable(_ found: DiskPath) throws(DiskError) -> DiskNode {
        guard let parent = found.parent, !parent.isDeleted else { throw DiskError(ENOENT) }
        if self.isReadOnly { throw DiskError(EROFS) }
        return parent
    }

    /// Opens an unnamed file.
    package func openUnnamed(_ directory: Int32, _ access: Int32, _ mode: mode_t) -> Int32 {
        let process = self.owner(directory)
        return self.call("openat", process, "(unnamed)", changes: true, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                let file = try self.file(directory)
                guard file.node.kind == .directory else { throw DiskError(ENOTDIR) }
                guard self.features.unnamedFiles else { throw DiskError(EOPNOTSUPP) }
                guard !file.node.isDeleted else { throw DiskError(ENOENT) }
                if self.isReadOnly { throw DiskError(EROFS) }
                guard access & O_ACCMODE != O_RDONLY else { throw DiskError(EINVAL) }
                let node = self.makeNode(.file, mode: UInt32(mode) & 0o7755)
                node.isLinkable = true
                return try self.install(node, "(unnamed)", access, process)
            }
        }
    }

    // MARK: Looking

    /// fstatat(2).
    package func status(_ directory: Int32, _ path: String, _ status: UnsafeMutablePointer<stat>, _ flags: Int32)
        -> Int32
    {
        self.call("fstatat", self.owner(directory), path, changes: false, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                let found = try self.find(directory, path, follow: flags & AT_SYMLINK_NOFOLLOW == 0)
                guard let node = found.node else { throw DiskError(ENOENT) }
                self.fill(status, node)
                return 0
            }
        }
    }

    /// faccessat(2); permissions are not checked.
    package func access(_ directory: Int32, _ path: String, _ mode: Int32, _ flags: Int32) -> Int32 {
        self.call("faccessat", self.owner(directory), path, changes: false, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                let found = try self.find(directory, path, follow: flags & AT_SYMLINK_NOFOLLOW == 0)
                guard found.node != nil else { throw DiskError(ENOENT) }
                if mode & W_OK != 0, self.isReadOnly { throw DiskError(EROFS) }
                return 0
            }
        }
    }

    /// realpath(3).
    package func resolve(_ path: String) -> String? {
        self.call("realpath", self.process, path, changes: false, failed: nil) { _ in
            do throws(DiskError) {
                let found = try self.find(AT_FDCWD, path, follow: true)
                guard let node = found.node else { throw DiskError(ENOENT) }
                if node.kind == .directory { return self.path(of: node) }
                return found.parent.map { $0 === self.root ? "/" + found.name : self.path(of: $0) + "/" + found.name }
            } catch {
                errno = error.number
                return nil
            }
        }
    }

    private func path(of directory: DiskNode) -> String {
        var names: [String] = []
        var node = directory
        while let parent = node.parent, let name = parent.entries.first(where: { $0.value === node })?.key {
            names.append(name)
            node = parent
        }
        return "/" + names.reversed().joined(separator: "/")
    }

    /// The names in an open directory, in their order.
    package func names(_ directory: Int32) -> [String]? {
        self.call("readdir", self.owner(directory), self.path(directory), changes: false, failed: nil) { _ in
            guard let file = try? self.file(directory), file.node.kind == .directory else {
                errno = ENOTDIR
                return nil
            }
            return file.node.entries.keys.sorted()
        }
    }

    // MARK: Changing

    /// mkdirat(2).
    package func makeDirectory(_ directory: Int32, _ path: String, _ mode: mode_t) -> Int32 {
        self.call("mkdirat", self.owner(directory), path, changes: true, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                let found = try self.find(directory, path, follow: false, changing: true)
                if found.node != nil { throw DiskError(EEXIST) }
                let parent = try self.writable(found)
                let node = self.makeNode(.directory, mode: UInt32(mode) & 0o7755)
                self.change([.init(directory: parent, name: found.name, node: node)])
                return 0
            }
        }
    }

    /// unlinkat(2).
    package func unlink(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        self.call("unlinkat", self.owner(directory), path, changes: true, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                let found = try self.find(directory, path, follow: false, changing: true)
                let isRemovingDirectory = flags & AT_REMOVEDIR != 0
                guard let parent = found.parent else {
                    throw DiskError(isRemovingDirectory ? found.name == "." ? EINVAL : ENOTEMPTY : EISDIR)
                }
                guard let node = found.node else { throw DiskError(ENOENT) }
                if self.isReadOnly { throw DiskError(EROFS) }
                if found.requiresDirectory, node.kind != .directory { throw DiskError(ENOTDIR) }
                if isRemovingDirectory {
                    guard node.kind == .directory else { throw DiskError(ENOTDIR) }
                    guard node.entries.isEmpty else { throw DiskError(ENOTEMPTY) }
                } else if node.kind == .directory {
                    throw DiskError(EISDIR)
                }
                self.change([.init(directory: parent, name: found.name, node: nil)])
                self.freeIfUnused(node)
                return 0
            }
        }
    }

    /// renameat2(2).
    package func rename(_ from: Int32, _ old: String, _ to: Int32, _ new: String, replacing: Bool) -> Int32 {
        let name: StaticString = replacing ? "renameat" : "renameat2"
        return self.call(name, self.owner(from), old + " -> " + new, changes: true, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                if !replacing, !self.features.renameWithoutReplacing { throw DiskError(EINVAL) }
                try self.rename(
                    self.find(from, old, follow: false, changing: true),
                    self.find(to, new, follow: false, changing: true),
                    replacing
                )
                return 0
            }
        }
    }

    private func rename(_ old: DiskPath, _ new: DiskPath, _ replacing: Bool) throws(DiskError) {
        guard let source = old.parent else { throw DiskError(EBUSY) }
        guard let target = new.parent else { throw DiskError(replacing ? EBUSY : EEXIST) }
        if self.isReadOnly { throw DiskError(EROFS) }
        guard let node = old.node else { throw DiskError(ENOENT) }
        if new.node != nil, !replacing { throw DiskError(EEXIST) }
        if node.kind != .directory, new.requiresDirectory || old.requiresDirectory { throw DiskError(ENOTDIR) }
        guard !target.isDeleted else { throw DiskError(ENOENT) }
        if node.kind == .directory {
            var ancestor: DiskNode? = target
            while let next = ancestor {
                if next === node { throw DiskError(EINVAL) }
                ancestor = next.parent
            }
        }
        if let replaced = new.node {
            var ancestor: DiskNode? = source
            while let next = ancestor {
                if next === replaced, replaced !== node { throw DiskError(ENOTEMPTY) }
                ancestor = next.parent
            }
            if replaced === node { return }
            switch (node.kind == .directory, replaced.kind == .directory) {
            case (true, false): throw DiskError(ENOTDIR)
            case (false, true): throw DiskError(EISDIR)
            case (true, true): if !replaced.entries.isEmpty { throw DiskError(ENOTEMPTY) }
            case (false, false): break
            }
        }
        self.change([
            .init(directory: source, name: old.name, node: nil), .init(directory: target, name: new.name, node: node),
        ])
        self.freeIfUnused(new.node)
    }

    /// linkat(2) of a name.
    package func link(_ from: Int32, _ old: String, _ to: Int32, _ new: String, _ flags: Int32) -> Int32 {
        self.call("linkat", self.owner(from), old + " -> " + new, changes: true, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                let source = try self.find(from, old, follow: flags & AT_SYMLINK_FOLLOW != 0)
                guard let node = source.node else { throw DiskError(ENOENT) }
                try self.link(node, self.find(to, new, follow: false, changing: true))
                return 0
            }
        }
    }

    /// linkat(2) of an open file.
    package func link(_ descriptor: Int32, _ directory: Int32, _ name: String) -> Int32 {
        self.call("linkat", self.owner(descriptor), name, changes: true, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                let node = try self.file(descriptor).node
                let target = try self.find(directory, name, follow: false, changing: true)
                if node.links == 0, !node.isLinkable, target.node == nil { throw DiskError(ENOENT) }
                try self.link(node, target)
                return 0
            }
        }
    }

    private func link(_ node: DiskNode, _ target: DiskPath) throws(DiskError) {
        if target.node != nil { throw DiskError(EEXIST) }
        let parent = try self.writable(target)
        if target.requiresDirectory { throw DiskError(ENOENT) }
        guard node.kind != .directory, self.features.links || node.isLinkable && node.links == 0 else {
            throw DiskError(EPERM)
        }
        node.isLinkable = false
        self.change([.init(directory: parent, name: target.name, node: node)])
    }

    /// truncate(2).
    package func truncate(_ path: String, _ length: Int64) -> Int32 {
        self.call("truncate", self.process, path, changes: true, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                guard length >= 0 else { throw DiskError(EINVAL) }
                guard let node = try self.find(AT_FDCWD, path, follow: true).node else { throw DiskError(ENOENT) }
                guard node.kind == .file else { throw DiskError(EISDIR) }
                if self.isReadOnly { throw DiskError(EROFS) }
                guard length <= Self.longestFile else { throw DiskError(EFBIG) }
                self.truncate(node, Int(length))
                return 0
            }
        }
    }

    /// fchmodat(2).
    package func changeMode(_ directory: Int32, _ path: String, _ mode: mode_t) -> Int32 {
        self.call("fchmodat", self.owner(directory), path, changes: true, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                guard let node = try self.find(directory, path, follow: true).node else { throw DiskError(ENOENT) }
                if self.isReadOnly { throw DiskError(EROFS) }
                node.facts.mode = UInt32(mode) & 0o7777
                self.changedFacts(of: node)
                return 0
            }
        }
    }
}
