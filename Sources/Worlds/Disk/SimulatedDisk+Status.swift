// SPDX-License-Identifier: Apache-2.0
package import Platform

extension SimulatedDisk {
    // MARK: Status

    /// fstat(2).
    package func status(_ descriptor: Int32, _ status: UnsafeMutablePointer<stat>) -> Int32 {
        self.call("fstat", self.owner(descriptor), self.path(descriptor), changes: false, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                self.fill(status, try self.file(descriptor).node)
                return 0
            }
        }
    }

    private static let user = geteuid()
    private static let group = getegid()

    func fill(_ status: UnsafeMutablePointer<stat>, _ node: DiskNode) {
        var facts = stat()
        let type = node.kind == .file ? S_IFREG : node.kind == .directory ? S_IFDIR : S_IFLNK
        facts.st_mode = mode_t(node.facts.mode) | type
        facts.st_dev = 1
        facts.st_ino = numericCast(node.number)
        let subdirectories = node.entries.values.reduce(0) { $0 + ($1.kind == .directory ? 1 : 0) }
        facts.st_nlink = numericCast(
            node.kind == .directory ? node.links == 0 ? 0 : 2 + subdirectories : node.links
        )
        facts.st_uid = Self.user
        facts.st_gid = Self.group
        facts.st_blksize = numericCast(Self.page)
        facts.st_size = numericCast(node.kind == .link ? node.destination.utf8.count : node.content.size)
        facts.st_blocks = numericCast(node.content.allocated.count * Self.page / 512)
        facts.modificationTime = Self.time(node.facts.modified)
        facts.statusChangeTime = Self.time(node.changed)
        status.pointee = facts
    }

    private static func time(_ nanoseconds: Int64) -> timespec {
        timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    /// futimens(2).
    package func setTimes(_ descriptor: Int32, _ times: UnsafePointer<timespec>?) -> Int32 {
        self.changingFacts("futimens", descriptor) { (node) throws(DiskError) in
            guard let modified = times.map({ $0[1] }) else {
                node.facts.modified = self.now
                return
            }
            if modified.tv_nsec == timespec.omitted.tv_nsec { return }
            guard (0..<1_000_000_000).contains(modified.tv_nsec) else { throw DiskError(EINVAL) }
            node.facts.modified = Int64(modified.tv_sec) &* 1_000_000_000 &+ Int64(modified.tv_nsec)
        }
    }

    /// fchmod(2).
    package func changeMode(_ descriptor: Int32, _ mode: mode_t) -> Int32 {
        self.changingFacts("fchmod", descriptor) { (node) throws(DiskError) in
            node.facts.mode = UInt32(mode) & 0o7777
        }
    }

    private func changingFacts(
        _ name: StaticString,
        _ descriptor: Int32,
        _ body: (DiskNode) throws(DiskError) -> Void
    ) -> Int32 {
        self.call(name, self.owner(descriptor), self.path(descriptor), changes: true, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                let node = try self.file(descriptor).node
                if self.isReadOnly { throw DiskError(EROFS) }
                try body(node)
                self.changedFacts(of: node)
                return 0
            }
        }
    }

    // MARK: Attributes

    /// lgetxattr(2).
    package func attribute(in directory: Int32, _ name: String, _ attribute: String) -> [UInt8]? {
        self.call("lgetxattr", self.owner(directory), name, changes: false, failed: nil) { _ in
            self.attribute { () throws(DiskError) in
                guard let node = try self.find(directory, name, follow: false).node else { throw DiskError(ENOENT) }
                return try self.value(node, attribute)
            }
        }
    }

    /// fgetxattr(2).
    package func attribute(of descriptor: Int32, _ attribute: String) -> [UInt8]? {
        self.call("fgetxattr", self.owner(descriptor), self.path(descriptor), changes: false, failed: nil) { _ in
            self.attribute { () throws(DiskError) in try self.value(self.file(descriptor).node, attribute) }
        }
    }

    private func attribute(_ body: () throws(DiskError) -> [UInt8]) -> [UInt8]? {
        do throws(DiskError) {
            return try body()
        } catch {
            errno = error.number
            return nil
        }
    }

    private func value(_ node: DiskNode, _ attribute: String) throws(DiskError) -> [UInt8] {
        guard self.features.attributes else { throw DiskError(ENOTSUP) }
        guard let value = node.facts.attributes[attribute] else { throw DiskError(ENODATA) }
        guard value.count <= 1024 else { throw DiskError(ERANGE) }
        return value
    }

    /// fsetxattr(2).
    package func setAttribute(_ descriptor: Int32, _ attribute: String, _ value: [UInt8]) -> Int32 {
        self.changingFacts("fsetxattr", descriptor) { (node) throws(DiskError) in
            guard self.features.attributes else { throw DiskError(ENOTSUP) }
            node.facts.attributes[attribute] = value
        }
    }

    /// fremovexattr(2).
    package func removeAttribute(_ descriptor: Int32, _ attribute: String) -> Int32 {
        self.changingFacts("fremovexattr", descriptor) { (node) throws(DiskError) in
            guard self.features.attributes else { throw DiskError(ENOTSUP) }
            guard node.facts.attributes.removeValue(forKey: attribute) != nil else { throw DiskError(ENODATA) }
        }
    }

    // MARK: Locks

    /// Locks an open file.
    package func lock(_ descriptor: Int32) -> Int32 {
        self.call("fcntl", self.owner(descriptor), self.path(descriptor), changes: false, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                let file = try self.file(descriptor)
                guard self.features.locks else { throw DiskError(ENOLCK) }
                guard file.isWritable else { throw DiskError(EBADF) }
                if let holder = file.node.lock, holder !== file { throw DiskError(EAGAIN) }
                file.node.lock = file
                return 0
            }
        }
    }

    /// Releases the lock.
    package func unlock(_ descriptor: Int32) {
        guard !self.isDead(self.owner(descriptor)), let file = try? self.file(descriptor) else { return }
        if file.node.lock === file { file.node.lock = nil }
    }

    /// Whether another open file has the lock.
    package func isLockedElsewhere(_ descriptor: Int32) -> Bool {
        guard let file = try? self.file(descriptor), let holder = file.node.lock else { return false }
        return holder !== file
    }
}
