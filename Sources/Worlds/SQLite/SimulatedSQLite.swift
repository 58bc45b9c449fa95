// SPDX-License-Identifier: Apache-2.0
internal import CSQLite
internal import Platform

/// SQLite's files on the simulated disk: a virtual file system over ``FileCalls``.
///
/// Its name is `unix-excl`, by which the queue's store opens its files, so that it replaces SQLite's own.
///
/// - Source: SQLite, "The SQLite OS Interface or VFS".
package enum SimulatedSQLite {
    /// Returns the databases of the process whose work is being done; set by the world.
    nonisolated(unsafe) package static var current: () -> ProcessDatabases = { ProcessDatabases() }
    /// `errno` of the last call that failed.
    nonisolated(unsafe) static var lastError: Int32 = 0
    nonisolated(unsafe) private static var isRegistered = false

    /// Registers the system in this process, for ever.
    ///
    /// For the simulator alone: without a simulation it would use the machine's files without locks.
    package static func register() {
        guard !self.isRegistered else { return }
        self.isRegistered = true
        let system = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        system.initialize(to: sqlite3_vfs())
        system.pointee.iVersion = 2
        system.pointee.szOsFile = Int32(MemoryLayout<DatabaseFileRecord>.size)
        system.pointee.mxPathname = 512
        system.pointee.zName = UnsafePointer(strdup("unix-excl"))
        self.setCalls(&system.pointee)
        sqlite3_vfs_register(system, 1)
    }

    /// Makes SQLite's random numbers those of the world that begins.
    package static func reset() { sqlite3_randomness(0, nil) }

    static func syncDirectory(of path: String) -> Bool {
        let end = path.lastIndex(of: "/") ?? path.startIndex
        let directory = FileCalls.open(end == path.startIndex ? "/" : String(path[..<end]), O_RDONLY | O_DIRECTORY)
        guard directory >= 0 else { return false }
        defer { FileCalls.close(directory) }
        return FileCalls.fsync(directory) == 0
    }

    // MARK: The calls

    private static func setCalls(_ system: inout sqlite3_vfs) {
        system.xOpen = { _, name, file, flags, result in
            guard let file else { return SQLITE_CANTOPEN }
            return Self.open(name.map { String(cString: $0) }, file, flags, result)
        }
        system.xDelete = { _, name, syncs in
            guard let name else { return SQLITE_OK }
            let path = String(cString: name)
            guard FileCalls.unlink(path) == 0 else {
                Self.lastError = errno
                // SQLITE_IOERR_DELETE_NOENT or SQLITE_IOERR_DELETE.
                return SQLITE_IOERR | (errno == ENOENT ? 23 << 8 : 10 << 8)
            }
            // SQLITE_IOERR_DIR_FSYNC.
            return syncs == 0 || Self.syncDirectory(of: path) ? SQLITE_OK : SQLITE_IOERR | (5 << 8)
        }
        system.xAccess = { _, name, flags, result in
            guard let name, let result else { return SQLITE_OK }
            var status = stat()
            // An empty journal is none.
            let isThere = FileCalls.stat(String(cString: name), &status) == 0
            result.pointee =
                isThere && (flags != SQLITE_ACCESS_EXISTS || status.st_mode & S_IFMT != S_IFREG || status.st_size > 0)
                ? 1 : 0
            return SQLITE_OK
        }
        system.xFullPathname = { _, name, count, result in
            guard let name, let result, strlen(name) < Int(count) else { return SQLITE_CANTOPEN }
            strcpy(result, name)
            return SQLITE_OK
        }
        system.xRandomness = { _, count, bytes in
            guard let bytes else { return 0 }
            var random = SystemRandom()
            // Bounds: SQLite's buffer has `count` bytes.
            for index in 0..<Int(count) { bytes[index] = CChar.random(in: .min ... .max, using: &random) }
            return count
        }
        system.xSleep = { _, microseconds in
            FileCalls.sleep(microseconds: Int(microseconds))
            return microseconds
        }
        system.xCurrentTime = { _, result in
            result?.pointee = Double(FileCalls.nanoseconds(of: CLOCK_REALTIME)) / 86_400e9 + 2_440_587.5
            return SQLITE_OK
        }
        system.xCurrentTimeInt64 = { _, result in
            // Milliseconds since noon in Greenwich on November 24, 4714 B.C.
            result?.pointee = FileCalls.nanoseconds(of: CLOCK_REALTIME) / 1_000_000 + 210_866_760_000_000
            return SQLITE_OK
        }
        system.xGetLastError = { _, _, _ in Self.lastError }
    }

    private static func open(
        _ path: String?,
        _ file: UnsafeMutablePointer<sqlite3_file>,
        _ flags: Int32,
        _ result: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        file.pointee.pMethods = nil
        var descriptor: Int32 = -1
        if let path {
            var mode = flags & SQLITE_OPEN_READWRITE != 0 ? O_RDWR : O_RDONLY
            if flags & SQLITE_OPEN_CREATE != 0 { mode |= O_CREAT }
            if flags & SQLITE_OPEN_EXCLUSIVE != 0 { mode |= O_EXCL | O_NOFOLLOW }
            descriptor = FileCalls.open(path, mode | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else {
                self.lastError = errno
                return SQLITE_CANTOPEN
            }
        }
        let journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL
        let object = SimulatedDatabaseFile(
            path,
            descriptor,
            self.current(),
            isMain: flags & SQLITE_OPEN_MAIN_DB != 0,
            syncsDirectory: flags & SQLITE_OPEN_CREATE != 0 && flags & journals != 0,
            deletesOnClose: flags & SQLITE_OPEN_DELETEONCLOSE != 0
        )
        DatabaseFileRecord.store(object, in: file)
        result?.pointee = flags
        return SQLITE_OK
    }
}
