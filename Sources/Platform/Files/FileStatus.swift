// SPDX-License-Identifier: Apache-2.0
extension stat {
    /// When the content was last changed.
    package var modificationTime: timespec {
        get {
            #if canImport(Darwin)
            self.st_mtimespec
            #else
            self.st_mtim
            #endif
        }
        set {
            #if canImport(Darwin)
            self.st_mtimespec = newValue
            #else
            self.st_mtim = newValue
            #endif
        }
    }

    /// When the content or the status was last changed.
    package var statusChangeTime: timespec {
        get {
            #if canImport(Darwin)
            self.st_ctimespec
            #else
            self.st_ctim
            #endif
        }
        set {
            #if canImport(Darwin)
            self.st_ctimespec = newValue
            #else
            self.st_ctim = newValue
            #endif
        }
    }
}

extension timespec {
    /// The argument of futimens(2) that leaves a time unchanged: `UTIME_OMIT`, which Glibc's module does not export.
    package static var omitted: timespec {
        #if canImport(Darwin)
        timespec(tv_sec: 0, tv_nsec: -2)
        #else
        timespec(tv_sec: 0, tv_nsec: (1 << 30) - 2)
        #endif
    }
}

/// Syncs the content of files.
package enum FileSync {
    /// Syncs a file's data, and the metadata that is needed to read it (fdatasync(2)).
    ///
    /// - Returns: 0, or -1 with `errno`.
    package static func syncData(_ descriptor: Int32) -> Int32 {
        if let simulation = FileCalls.simulation { return simulation.sync(descriptor, dataOnly: true) }
        #if canImport(Darwin)
        // fsync(2) of Darwin does not reach the medium.
        return fcntl(descriptor, F_FULLFSYNC)
        #else
        return fdatasync(descriptor)
        #endif
    }
}
