// SPDX-License-Identifier: Apache-2.0
internal import CSQLite

/// The locks of one database, and the index of its write-ahead log, among the connections of one process.
///
/// They end with the process, as those of SQLite's `unix-excl` do.
final class DatabaseLocks {
    private var shared: Set<Int> = []
    private var reserved: Int?
    private var isExclusive = false
    private var slots = Array(repeating: (readers: 0, writer: false), count: Int(SQLITE_SHM_NLOCK))
    private var regions: [UnsafeMutableRawPointer] = []
    private var mappings = 0

    deinit { self.release() }

    private func release() {
        for region in self.regions { region.deallocate() }
        self.regions = []
    }

    // MARK: The file

    /// Raises a connection's lock; returns SQLite's result code.
    func lock(_ level: Int32, by owner: Int) -> Int32 {
        let isMine = self.reserved == owner
        switch level {
        case SQLITE_LOCK_SHARED:
            guard !self.isExclusive || isMine else { return SQLITE_BUSY }
            self.shared.insert(owner)
        case SQLITE_LOCK_RESERVED:
            guard self.reserved == nil || isMine else { return SQLITE_BUSY }
            self.reserved = owner
        case SQLITE_LOCK_PENDING, SQLITE_LOCK_EXCLUSIVE:
            guard self.reserved == nil || isMine else { return SQLITE_BUSY }
            self.reserved = owner
            guard level == SQLITE_LOCK_EXCLUSIVE else { return SQLITE_OK }
            guard self.shared.isSubset(of: [owner]) else { return SQLITE_BUSY }
            self.isExclusive = true
        default: break
        }
        return SQLITE_OK
    }

    /// Lowers a connection's lock to `SQLITE_LOCK_SHARED` or `SQLITE_LOCK_NONE`.
    func unlock(_ level: Int32, by owner: Int) {
        if self.reserved == owner { (self.reserved, self.isExclusive) = (nil, false) }
        if level == SQLITE_LOCK_NONE { self.shared.remove(owner) }
    }

    /// Whether a connection has more than a shared lock.
    var isReserved: Bool { self.reserved != nil }

    // MARK: The index of the log

    /// Returns a region, or `nil` if it does not exist and `extends` is false.
    func region(_ index: Int, size: Int, extends: Bool) -> UnsafeMutableRawPointer? {
        while self.regions.count <= index {
            guard extends else { return nil }
            let region = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
            region.initializeMemory(as: UInt8.self, repeating: 0, count: size)
            self.regions.append(region)
        }
        // Bounds: the loop has made it.
        return self.regions[index]
    }

    /// Takes or releases locks on slots; returns SQLite's result code.
    func lockSlots(_ range: Range<Int>, _ flags: Int32) -> Int32 {
        let isExclusive = flags & SQLITE_SHM_EXCLUSIVE != 0
        // Bounds: SQLite has as many slots.
        if flags & SQLITE_SHM_UNLOCK != 0 {
            for index in range {
                if isExclusive { self.slots[index].writer = false } else { self.slots[index].readers -= 1 }
            }
            return SQLITE_OK
        }
        for index in range {
            if self.slots[index].writer || isExclusive && self.slots[index].readers > 0 { return SQLITE_BUSY }
        }
        for index in range {
            if isExclusive { self.slots[index].writer = true } else { self.slots[index].readers += 1 }
        }
        return SQLITE_OK
    }

    /// Counts a connection that maps the index.
    func map() { self.mappings += 1 }

    /// Uncounts a connection; the last one of a process deletes the index.
    func unmap() {
        self.mappings -= 1
        if self.mappings == 0 { self.release() }
    }
}

/// The databases that a process has open.
///
/// `@unchecked Sendable`: a world runs on one thread.
package final class ProcessDatabases: @unchecked Sendable {
    private var locks: [String: DatabaseLocks] = [:]
    private var files = 0

    /// Creates the databases of a process that has opened none.
    package init() {}

    func locks(of path: String) -> DatabaseLocks {
        if let known = self.locks[path] { return known }
        let new = DatabaseLocks()
        self.locks[path] = new
        return new
    }

    func nextFile() -> Int {
        self.files += 1
        return self.files
    }
}
