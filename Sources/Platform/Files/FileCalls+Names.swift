// SPDX-License-Identifier: Apache-2.0
extension FileCalls {
    /// open(2).
    @discardableResult
    package static func open(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
        if let simulation { return simulation.open(AT_FDCWD, path, flags, mode) }
        return Platform.open(path, flags, mode)
    }

    /// openat(2).
    @discardableResult
    package static func openat(_ directory: Int32, _ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
        if let simulation { return simulation.open(directory, path, flags, mode) }
        return Platform.openat(directory, path, flags, mode)
    }

    /// stat(2).
    @discardableResult
    package static func stat(_ path: String, _ status: UnsafeMutablePointer<stat>) -> Int32 {
        if let simulation { return simulation.status(AT_FDCWD, path, status, 0) }
        return Platform.fstatat(AT_FDCWD, path, status, 0)
    }

    /// lstat(2).
    @discardableResult
    package static func lstat(_ path: String, _ status: UnsafeMutablePointer<stat>) -> Int32 {
        if let simulation { return simulation.status(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW) }
        return Platform.lstat(path, status)
    }

    /// fstatat(2).
    @discardableResult
    package static func fstatat(
        _ directory: Int32,
        _ path: String,
        _ status: UnsafeMutablePointer<stat>,
        _ flags: Int32
    ) -> Int32 {
        if let simulation { return simulation.status(directory, path, status, flags) }
        return Platform.fstatat(directory, path, status, flags)
    }

    /// access(2).
    @discardableResult
    package static func access(_ path: String, _ mode: Int32) -> Int32 {
        if let simulation { return simulation.access(AT_FDCWD, path, mode, 0) }
        return Platform.access(path, mode)
    }

    /// faccessat(2).
    @discardableResult
    package static func faccessat(_ directory: Int32, _ path: String, _ mode: Int32, _ flags: Int32) -> Int32 {
        if let simulation { return simulation.access(directory, path, mode, flags) }
        return Platform.faccessat(directory, path, mode, flags)
    }

    /// mkdir(2).
    @discardableResult
    package static func mkdir(_ path: String, _ mode: mode_t) -> Int32 {
        if let simulation { return simulation.makeDirectory(AT_FDCWD, path, mode) }
        return Platform.mkdir(path, mode)
    }

    /// mkdirat(2).
    @discardableResult
    package static func mkdirat(_ directory: Int32, _ path: String, _ mode: mode_t) -> Int32 {
        if let simulation { return simulation.makeDirectory(directory, path, mode) }
        return Platform.mkdirat(directory, path, mode)
    }

    /// unlink(2).
    @discardableResult
    package static func unlink(_ path: String) -> Int32 {
        if let simulation { return simulation.unlink(AT_FDCWD, path, 0) }
        return Platform.unlink(path)
    }

    /// unlinkat(2).
    @discardableResult
    package static func unlinkat(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        if let simulation { return simulation.unlink(directory, path, flags) }
        return Platform.unlinkat(directory, path, flags)
    }

    /// rename(2).
    @discardableResult
    package static func rename(_ old: String, _ new: String) -> Int32 {
        if let simulation { return simulation.rename(AT_FDCWD, old, AT_FDCWD, new, replacing: true) }
        return Platform.rename(old, new)
    }

    /// renameat(2).
    @discardableResult
    package static func renameat(_ from: Int32, _ old: String, _ to: Int32, _ new: String) -> Int32 {
        if let simulation { return simulation.rename(from, old, to, new, replacing: true) }
        return Platform.renameat(from, old, to, new)
    }

    /// linkat(2).
    @discardableResult
    package static func linkat(_ from: Int32, _ old: String, _ to: Int32, _ new: String, _ flags: Int32) -> Int32 {
        if let simulation { return simulation.link(from, old, to, new, flags) }
        return Platform.linkat(from, old, to, new, flags)
    }

    /// truncate(2).
    @discardableResult
    package static func truncate(_ path: String, _ length: off_t) -> Int32 {
        if let simulation { return simulation.truncate(path, Int64(length)) }
        return Platform.truncate(path, length)
    }

    /// chmod(2).
    @discardableResult
    package static func chmod(_ path: String, _ mode: mode_t) -> Int32 {
        if let simulation { return simulation.changeMode(AT_FDCWD, path, mode) }
        return Platform.chmod(path, mode)
    }

    /// realpath(3).
    package static func realpath(_ path: String) -> String? {
        if let simulation { return simulation.resolve(path) }
        guard let resolved = Platform.realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
