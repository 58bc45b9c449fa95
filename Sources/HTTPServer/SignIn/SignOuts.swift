// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform
internal import Synchronization
package import TransferCore

/// The sign-outs of a server, in a file or in memory.
///
/// Any number of processes can use the file, next to which is a lock file; each sees the sign-outs of the others at its
/// next request (stat(2)). If the file is damaged, all cookies end and the file is replaced. While it cannot be read, no
/// cookie is valid.
package final class SignOuts: Sendable {
    /// Identifies the state of a file.
    private struct Stamp: Sendable, Hashable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var seconds: Int64
        var nanoseconds: Int64

        /// The file at a path; `nil` if there is none.
        init?(_ path: String) throws(StorageError) {
            var status = stat()
            guard stat(path, &status) == 0 else {
                if errno == ENOENT { return nil }
                throw StorageError(errno: errno, otherwise: .cannotOpen, "cannot examine", path)
            }
            self.device = UInt64(truncatingIfNeeded: status.st_dev)
            self.inode = UInt64(truncatingIfNeeded: status.st_ino)
            self.size = Int64(status.st_size)
            self.seconds = Int64(status.modificationTime.tv_sec)
            self.nanoseconds = Int64(status.modificationTime.tv_nsec)
        }
    }

    /// The state that requests read.
    private struct Known {
        var list: SignOutList
        /// The file that was read or written last.
        var file: Stamp?
        /// Whether this process writes the file and therefore holds its lock.
        var isWriting = false
    }

    /// The file; locked before ``Known``, and while it is read and written.
    private struct File {
        var log: LineLog
        /// Whether the file may lack sign-outs of this process.
        var isIncomplete = false
    }

    private let path: String
    private let isStored: Bool
    private let clock: @Sendable () -> Double
    private let known: Mutex<Known>
    private let file: Mutex<File>

    /// Creates the list; nothing is read yet.
    ///
    /// - Parameters:
    ///   - path: The path of the file, whose directory must exist; `nil` to forget sign-outs with this object.
    ///   - most: The maximum number of sign-outs that are kept one by one; `nil` for the usual one.
    ///   - clock: Returns the current time, in seconds since 1970.
    package init(_ path: String?, most: Int? = nil, clock: @escaping @Sendable () -> Double) {
        self.path = path ?? ""
        self.isStored = path != nil
        self.clock = clock
        self.known = Mutex(Known(list: SignOutList(most: most ?? SignOutList.usualMost)))
        self.file = Mutex(File(log: LineLog(self.path, format: "martlet-sign-outs", version: 1)))
    }

    /// All cookies that end at this time or earlier are invalid, in seconds since 1970; new ones must end later.
    package var floor: Int64 {
        try? self.refresh()
        return self.known.withLock { $0.list.floor }
    }

    /// Reads the file, and checks that its lock file can be created; blocks.
    ///
    /// - Throws: `StorageError`.
    package func open() throws(StorageError) {
        guard self.isStored else { return }
        try self.withFile { (file) throws(StorageError) in
            _ = try self.lockFile()
            try self.read(&file)
        }
    }

    /// Whether the user of a cookie has signed out.
    package func contains(_ cookie: SignInCookie.Content) -> Bool {
        do throws(StorageError) {
            try self.refresh()
        } catch {
            return true
        }
        return self.known.withLock { $0.list.contains(cookie) }
    }

    /// Signs out the users of cookies; blocks.
    ///
    /// - Throws: `StorageError` if the file cannot be written; the cookies are then invalid until this process ends.
    package func add(_ cookies: [SignInCookie.Content]) throws(StorageError) {
        guard !cookies.isEmpty else { return }
        let now = self.clock()
        guard self.isStored else {
            self.known.withLock { _ = $0.list.add(cookies, now: now) }
            return
        }
        try self.withFile { (file) throws(StorageError) in
            do throws(StorageError) {
                let lock = try self.lockFile()
                try lock.waitForLock(of: self.path)
                defer { lock.unlock() }
                try self.readLocked(&file)
                try self.write(self.known.withLock { $0.list.add(cookies, now: now) }, &file)
            } catch {
                self.known.withLock { _ = $0.list.add(cookies, now: now) }
                file.isIncomplete = true
                throw error
            }
        }
    }

    private func withFile(_ body: (inout File) throws(StorageError) -> Void) throws(StorageError) {
        let result = self.file.withLock { file in Result { () throws(StorageError) in try body(&file) } }
        try result.get()
    }

    // MARK: The file

    /// Reads the file if another process has changed it.
    private func refresh() throws(StorageError) {
        guard self.isStored else { return }
        let stamp = try Stamp(self.path)
        // Removing the file does not restore cookies.
        let isKnown = self.known.withLock { $0.isWriting || stamp == nil || stamp == $0.file }
        if !isKnown { try self.withFile { (file) throws(StorageError) in try self.read(&file) } }
    }

    /// Appends a record, or replaces the file.
    private func write(_ record: [UInt8]?, _ file: inout File) throws(StorageError) {
        self.known.withLock { $0.isWriting = true }
        defer { self.known.withLock { $0.isWriting = false } }
        let isAppended = if let record, !file.isIncomplete { try file.log.append(record) } else { false }
        if !isAppended || file.log.isBloated {
            let now = self.clock()
            let snapshot = self.known.withLock { known in
                known.list.prune(now: now)
                return known.list.snapshot
            }
            try file.log.replace([snapshot])
            file.isIncomplete = false
        }
        let stamp = try Stamp(self.path)
        self.known.withLock { $0.file = stamp }
    }

    /// Applies what other processes have written.
    private func read(_ file: inout File) throws(StorageError) {
        do throws(StorageError) {
            try self.apply(&file)
        } catch {
            guard error.code == .badJournal else { throw error }
            let lock = try self.lockFile()
            try lock.waitForLock(of: self.path)
            defer { lock.unlock() }
            // Another process may have replaced it.
            try self.readLocked(&file)
        }
    }

    /// Applies what other processes have written, while the file is locked; replaces a damaged file.
    private func readLocked(_ file: inout File) throws(StorageError) {
        do throws(StorageError) {
            try self.apply(&file)
        } catch {
            guard error.code == .badJournal else { throw error }
            // The cookies that it names are not known.
            let now = self.clock()
            self.known.withLock { $0.list.endAll(now: now) }
            file.isIncomplete = true
            try self.write(nil, &file)
        }
    }

    private func apply(_ file: inout File) throws(StorageError) {
        // Before the file is read: a change during the read is detected the next time.
        guard let stamp = try Stamp(self.path), stamp != self.known.withLock({ $0.file }) else { return }
        let records = try file.log.read() ?? []
        let isValid = self.known.withLock { known in
            for record in records where !known.list.apply(record) { return false }
            known.file = stamp
            return true
        }
        guard isValid else { throw StorageError(.badJournal, "'\(self.path)' has a record that is not understood") }
    }

    private func lockFile() throws(StorageError) -> FileDescriptor {
        let path = self.path + ".lock"
        let raw = Platform.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard raw >= 0 else { throw StorageError(errno: errno, otherwise: .cannotCreate, "cannot create", path) }
        return FileDescriptor(raw)
    }
}
