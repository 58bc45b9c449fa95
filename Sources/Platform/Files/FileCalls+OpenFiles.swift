// SPDX-License-Identifier: Apache-2.0
extension FileCalls {
    /// close(2).
    @discardableResult
    package static func close(_ descriptor: Int32) -> Int32 {
        if let simulation { return simulation.close(descriptor) }
        return Platform.close(descriptor)
    }

    /// dup(2).
    @discardableResult
    package static func dup(_ descriptor: Int32) -> Int32 {
        if let simulation { return simulation.duplicate(descriptor) }
        return Platform.dup(descriptor)
    }

    /// read(2).
    @discardableResult
    package static func read(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        if let simulation { return simulation.read(descriptor, bytes, count) }
        return Platform.read(descriptor, bytes, count)
    }

    /// write(2).
    @discardableResult
    package static func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        if let simulation { return simulation.write(descriptor, bytes, count) }
        return Platform.write(descriptor, bytes, count)
    }

    /// pread(2).
    @discardableResult
    package static func pread(
        _ descriptor: Int32,
        _ bytes: UnsafeMutableRawPointer?,
        _ count: Int,
        _ offset: off_t
    ) -> Int {
        if let simulation { return simulation.read(descriptor, bytes, count, at: Int64(offset)) }
        return Platform.pread(descriptor, bytes, count, offset)
    }

    /// pwrite(2).
    @discardableResult
    package static func pwrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ offset: off_t) -> Int {
        if let simulation { return simulation.write(descriptor, bytes, count, at: Int64(offset)) }
        return Platform.pwrite(descriptor, bytes, count, offset)
    }

    /// lseek(2).
    @discardableResult
    package static func lseek(_ descriptor: Int32, _ offset: off_t, _ whence: Int32) -> off_t {
        if let simulation { return off_t(simulation.seek(descriptor, Int64(offset), whence)) }
        return Platform.lseek(descriptor, offset, whence)
    }

    /// fstat(2).
    @discardableResult
    package static func fstat(_ descriptor: Int32, _ status: UnsafeMutablePointer<stat>) -> Int32 {
        if let simulation { return simulation.status(descriptor, status) }
        return Platform.fstat(descriptor, status)
    }

    /// fstatvfs(2).
    @discardableResult
    package static func fstatvfs(_ descriptor: Int32, _ space: UnsafeMutablePointer<statvfs>) -> Int32 {
        if let simulation { return simulation.space(descriptor, space) }
        return Platform.fstatvfs(descriptor, space)
    }

    /// ftruncate(2).
    @discardableResult
    package static func ftruncate(_ descriptor: Int32, _ length: off_t) -> Int32 {
        if let simulation { return simulation.truncate(descriptor, Int64(length)) }
        return Platform.ftruncate(descriptor, length)
    }

    /// fsync(2).
    @discardableResult
    package static func fsync(_ descriptor: Int32) -> Int32 {
        if let simulation { return simulation.sync(descriptor, dataOnly: false) }
        return Platform.fsync(descriptor)
    }

    /// futimens(2).
    @discardableResult
    package static func futimens(_ descriptor: Int32, _ times: UnsafePointer<timespec>?) -> Int32 {
        if let simulation { return simulation.setTimes(descriptor, times) }
        return Platform.futimens(descriptor, times)
    }

    /// fchmod(2).
    @discardableResult
    package static func fchmod(_ descriptor: Int32, _ mode: mode_t) -> Int32 {
        if let simulation { return simulation.changeMode(descriptor, mode) }
        return Platform.fchmod(descriptor, mode)
    }
}
