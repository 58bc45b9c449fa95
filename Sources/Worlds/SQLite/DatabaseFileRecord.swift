// SPDX-License-Identifier: Apache-2.0
internal import CSQLite
internal import Platform

/// SQLite's record of an open file: its methods, and the object that performs them.
struct DatabaseFileRecord {
    private var base: sqlite3_file
    private var object: Unmanaged<SimulatedDatabaseFile>

    /// Makes SQLite's memory for a file the record of an object, which it retains until the file is closed.
    static func store(_ object: SimulatedDatabaseFile, in file: UnsafeMutablePointer<sqlite3_file>) {
        let record = DatabaseFileRecord(
            base: sqlite3_file(pMethods: UnsafePointer(self.methods)),
            object: .passRetained(object)
        )
        UnsafeMutableRawPointer(file).initializeMemory(as: DatabaseFileRecord.self, to: record)
    }

    private static func object(_ file: UnsafeMutablePointer<sqlite3_file>?) -> SimulatedDatabaseFile? {
        guard let file else { return nil }
        return UnsafeMutableRawPointer(file).assumingMemoryBound(to: DatabaseFileRecord.self).pointee.object
            .takeUnretainedValue()
    }

    nonisolated(unsafe) private static let methods: UnsafeMutablePointer<sqlite3_io_methods> = {
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        methods.initialize(to: sqlite3_io_methods())
        methods.pointee.iVersion = 2
        Self.setContent(&methods.pointee)
        Self.setLocks(&methods.pointee)
        return methods
    }()

    private static func setContent(_ methods: inout sqlite3_io_methods) {
        methods.xClose = { file in
            guard let file else { return SQLITE_OK }
            let record = UnsafeMutableRawPointer(file).assumingMemoryBound(to: DatabaseFileRecord.self)
            record.pointee.object.takeUnretainedValue().close()
            record.pointee.object.release()
            return SQLITE_OK
        }
        methods.xRead = { file, bytes, count, offset in
            guard let bytes, let object = Self.object(file) else { return SQLITE_IOERR }
            return object.read(bytes, Int(count), at: offset)
        }
        methods.xWrite = { file, bytes, count, offset in
            guard let bytes, let object = Self.object(file) else { return SQLITE_IOERR }
            return object.write(bytes, Int(count), at: offset)
        }
        methods.xTruncate = { file, length in Self.object(file)?.truncate(length) ?? SQLITE_IOERR }
        methods.xSync = { file, _ in Self.object(file)?.sync() ?? SQLITE_IOERR }
        methods.xFileSize = { file, size in
            guard let size else { return SQLITE_IOERR }
            return Self.object(file)?.size(size) ?? SQLITE_IOERR
        }
        methods.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
        methods.xSectorSize = { _ in 4096 }
        methods.xDeviceCharacteristics = { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE }
    }

    private static func setLocks(_ methods: inout sqlite3_io_methods) {
        methods.xLock = { file, level in Self.object(file)?.lock(level) ?? SQLITE_IOERR }
        methods.xUnlock = { file, level in
            Self.object(file)?.unlock(level)
            return SQLITE_OK
        }
        methods.xCheckReservedLock = { file, result in
            result?.pointee = Self.object(file)?.isReserved == true ? 1 : 0
            return SQLITE_OK
        }
        methods.xShmMap = { file, index, size, extends, result in
            let region = Self.object(file)?.region(Int(index), size: Int(size), extends: extends != 0)
            result?.pointee = region
            return SQLITE_OK
        }
        methods.xShmLock = { file, start, count, flags in
            Self.object(file)?.lockSlots(Int(start)..<Int(start + count), flags) ?? SQLITE_IOERR
        }
        methods.xShmBarrier = { _ in }
        methods.xShmUnmap = { file, _ in
            Self.object(file)?.unmap()
            return SQLITE_OK
        }
    }
}
