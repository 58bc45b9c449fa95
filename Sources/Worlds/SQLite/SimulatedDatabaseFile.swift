// SPDX-License-Identifier: Apache-2.0
internal import CSQLite
internal import Platform

/// An open file of SQLite on the simulated disk.
final class SimulatedDatabaseFile {
    /// The path; `nil` for a temporary file, which is in memory.
    let path: String?
    private let descriptor: Int32
    private var temporary: [UInt8] = []
    private let locks: DatabaseLocks?
    private let number: Int
    private let deletesOnClose: Bool
    /// Whether the next sync also syncs the directory, in which the file was created.
    private var syncsDirectory: Bool
    private var hasMapping = false

    /// Takes over an open file.
    init(
        _ path: String?,
        _ descriptor: Int32,
        _ databases: ProcessDatabases,
        isMain: Bool,
        syncsDirectory: Bool,
        deletesOnClose: Bool
    ) {
        self.path = path
        self.descriptor = descriptor
        self.locks = isMain ? path.map { databases.locks(of: $0) } : nil
        self.number = databases.nextFile()
        self.syncsDirectory = syncsDirectory
        self.deletesOnClose = deletesOnClose
    }

    func close() {
        self.unmap()
        self.locks?.unlock(SQLITE_LOCK_NONE, by: self.number)
        guard let path else { return }
        FileCalls.close(self.descriptor)
        if self.deletesOnClose { FileCalls.unlink(path) }
    }

    // MARK: Content

    func read(_ bytes: UnsafeMutableRawPointer, _ count: Int, at offset: Int64) -> Int32 {
        var done = 0
        if self.path == nil {
            let start = min(Int(offset), self.temporary.count)
            done = min(count, self.temporary.count - start)
            // Bounds: the range ends at most at the array's end.
            UnsafeMutableRawBufferPointer(start: bytes, count: done)
                .copyBytes(from: self.temporary[start..<start + done])
        }
        while self.path != nil, done < count {
            let step = FileCalls.pread(self.descriptor, bytes + done, count - done, off_t(offset) + off_t(done))
            if step < 0 { return self.failed(SQLITE_IOERR_READ_CODE) }
            if step == 0 { break }
            done += step
        }
        guard done < count else { return SQLITE_OK }
        (bytes + done).initializeMemory(as: UInt8.self, repeating: 0, count: count - done)
        return SQLITE_IOERR_SHORT_READ_CODE
    }

    func write(_ bytes: UnsafeRawPointer, _ count: Int, at offset: Int64) -> Int32 {
        guard self.path != nil else {
            let end = Int(offset) + count
            if end > self.temporary.count {
                self.temporary.append(contentsOf: repeatElement(0, count: end - self.temporary.count))
            }
            // Bounds: the array was extended to the range's end.
            self.temporary.replaceSubrange(
                Int(offset)..<end,
                with: UnsafeRawBufferPointer(start: bytes, count: count)
            )
            return SQLITE_OK
        }
        var done = 0
        while done < count {
            let step = FileCalls.pwrite(self.descriptor, bytes + done, count - done, off_t(offset) + off_t(done))
            if step < 0 {
                return self.failed(errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL : SQLITE_IOERR_WRITE_CODE)
            }
            done += step
        }
        return SQLITE_OK
    }

    func truncate(_ length: Int64) -> Int32 {
        guard self.path != nil else {
            self.temporary.removeLast(max(0, self.temporary.count - Int(length)))
            return SQLITE_OK
        }
        return FileCalls.ftruncate(self.descriptor, off_t(length)) == 0
            ? SQLITE_OK : self.failed(SQLITE_IOERR_TRUNCATE_CODE)
    }

    func sync() -> Int32 {
        guard let path = self.path else { return SQLITE_OK }
        guard FileCalls.fsync(self.descriptor) == 0 else { return self.failed(SQLITE_IOERR_FSYNC_CODE) }
        if self.syncsDirectory, SimulatedSQLite.syncDirectory(of: path) { self.syncsDirectory = false }
        return SQLITE_OK
    }

    func size(_ size: UnsafeMutablePointer<Int64>) -> Int32 {
        guard self.path != nil else {
            size.pointee = Int64(self.temporary.count)
            return SQLITE_OK
        }
        var status = stat()
        guard FileCalls.fstat(self.descriptor, &status) == 0 else { return self.failed(SQLITE_IOERR_FSTAT_CODE) }
        size.pointee = Int64(status.st_size)
        return SQLITE_OK
    }

    private func failed(_ code: Int32) -> Int32 {
        SimulatedSQLite.lastError = errno
        return code
    }

    // MARK: Locks

    func lock(_ level: Int32) -> Int32 { self.locks?.lock(level, by: self.number) ?? SQLITE_OK }

    func unlock(_ level: Int32) { self.locks?.unlock(level, by: self.number) }

    var isReserved: Bool { self.locks?.isReserved ?? false }

    func region(_ index: Int, size: Int, extends: Bool) -> UnsafeMutableRawPointer? {
        if !self.hasMapping {
            self.locks?.map()
            self.hasMapping = true
        }
        return self.locks?.region(index, size: size, extends: extends)
    }

    func lockSlots(_ range: Range<Int>, _ flags: Int32) -> Int32 { self.locks?.lockSlots(range, flags) ?? SQLITE_OK }

    func unmap() {
        if self.hasMapping { self.locks?.unmap() }
        self.hasMapping = false
    }
}

// Swift does not import these macros, which combine others.
private let SQLITE_IOERR_READ_CODE = SQLITE_IOERR | (1 << 8)
private let SQLITE_IOERR_SHORT_READ_CODE = SQLITE_IOERR | (2 << 8)
private let SQLITE_IOERR_WRITE_CODE = SQLITE_IOERR | (3 << 8)
private let SQLITE_IOERR_FSYNC_CODE = SQLITE_IOERR | (4 << 8)
private let SQLITE_IOERR_TRUNCATE_CODE = SQLITE_IOERR | (6 << 8)
private let SQLITE_IOERR_FSTAT_CODE = SQLITE_IOERR | (7 << 8)
