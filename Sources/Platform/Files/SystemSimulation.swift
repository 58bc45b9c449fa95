// SPDX-License-Identifier: Apache-2.0
/// A simulated system: files, clocks and random numbers that ``FileCalls`` uses instead of the real ones.
///
/// The calls have the conventions of the C library: a failed call returns -1 or `nil` and sets `errno`. A path is relative
/// to the directory of a descriptor, or to the working directory for `AT_FDCWD`.
package protocol SystemSimulation: AnyObject {
    // MARK: Names

    /// openat(2).
    func open(_ directory: Int32, _ path: String, _ flags: Int32, _ mode: mode_t) -> Int32
    /// Opens an unnamed file (`O_TMPFILE` of open(2)).
    func openUnnamed(_ directory: Int32, _ access: Int32, _ mode: mode_t) -> Int32
    /// fstatat(2).
    func status(_ directory: Int32, _ path: String, _ status: UnsafeMutablePointer<stat>, _ flags: Int32) -> Int32
    /// faccessat(2).
    func access(_ directory: Int32, _ path: String, _ mode: Int32, _ flags: Int32) -> Int32
    /// mkdirat(2).
    func makeDirectory(_ directory: Int32, _ path: String, _ mode: mode_t) -> Int32
    /// unlinkat(2).
    func unlink(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32
    /// renameat(2), or renameat2(2) with `RENAME_NOREPLACE`.
    func rename(_ from: Int32, _ old: String, _ to: Int32, _ new: String, replacing: Bool) -> Int32
    /// linkat(2) of a name.
    func link(_ from: Int32, _ old: String, _ to: Int32, _ new: String, _ flags: Int32) -> Int32
    /// linkat(2) of an open file.
    func link(_ descriptor: Int32, _ directory: Int32, _ name: String) -> Int32
    /// realpath(3).
    func resolve(_ path: String) -> String?
    /// truncate(2).
    func truncate(_ path: String, _ length: Int64) -> Int32
    /// fchmodat(2).
    func changeMode(_ directory: Int32, _ path: String, _ mode: mode_t) -> Int32
    /// The names in an open directory, without `.` and `..`.
    func names(_ directory: Int32) -> [String]?

    // MARK: Open files

    /// close(2).
    func close(_ descriptor: Int32) -> Int32
    /// dup(2).
    func duplicate(_ descriptor: Int32) -> Int32
    /// read(2).
    func read(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int
    /// write(2).
    func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int
    /// pread(2).
    func read(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int, at offset: Int64) -> Int
    /// pwrite(2).
    func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, at offset: Int64) -> Int
    /// lseek(2).
    func seek(_ descriptor: Int32, _ offset: Int64, _ whence: Int32) -> Int64
    /// copy_file_range(2) at both files' offsets.
    func copyRange(_ from: Int32, _ to: Int32, _ count: Int) -> Int
    /// fstat(2).
    func status(_ descriptor: Int32, _ status: UnsafeMutablePointer<stat>) -> Int32
    /// fstatvfs(2).
    func space(_ descriptor: Int32, _ space: UnsafeMutablePointer<statvfs>) -> Int32
    /// ftruncate(2).
    func truncate(_ descriptor: Int32, _ length: Int64) -> Int32
    /// fallocate(2) from the beginning, with `FALLOC_FL_KEEP_SIZE`.
    func allocate(_ descriptor: Int32, length: Int64) -> Int32
    /// fallocate(2) with `FALLOC_FL_PUNCH_HOLE`.
    func punchHole(_ descriptor: Int32, _ offset: Int64, length: Int64) -> Int32
    /// fsync(2), or fdatasync(2).
    func sync(_ descriptor: Int32, dataOnly: Bool) -> Int32
    /// syncfs(2).
    func syncFilesystem(_ descriptor: Int32) -> Int32
    /// futimens(2) with the times of access and modification.
    func setTimes(_ descriptor: Int32, _ times: UnsafePointer<timespec>?) -> Int32
    /// fchmod(2).
    func changeMode(_ descriptor: Int32, _ mode: mode_t) -> Int32

    // MARK: Attributes and locks

    /// lgetxattr(2) of a name in an open directory.
    func attribute(in directory: Int32, _ name: String, _ attribute: String) -> [UInt8]?
    /// fgetxattr(2).
    func attribute(of descriptor: Int32, _ attribute: String) -> [UInt8]?
    /// fsetxattr(2).
    func setAttribute(_ descriptor: Int32, _ attribute: String, _ value: [UInt8]) -> Int32
    /// fremovexattr(2).
    func removeAttribute(_ descriptor: Int32, _ attribute: String) -> Int32
    /// Locks an open file without waiting.
    func lock(_ descriptor: Int32) -> Int32
    /// Releases a lock.
    func unlock(_ descriptor: Int32)
    /// Whether another open file has the lock.
    func isLockedElsewhere(_ descriptor: Int32) -> Bool

    // MARK: Time and chance

    /// Nanoseconds of a clock: since 1970 for `CLOCK_REALTIME`.
    func nanoseconds(of clock: clockid_t) -> Int64
    /// usleep(3).
    func sleep(microseconds: Int)
    /// 64 random bits.
    func randomNumber() -> UInt64
}
