// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import TransferCore

/// A spool whose program has ended.
///
/// While this object exists, it has the file's lock, so that no other process performs the calls.
package final class OrphanedSpool: Sendable {
    /// The prefix of the names of files that are being created.
    static let hiddenPrefix = ".new-"

    /// The file's name.
    package let name: String
    /// The remaining calls.
    package let contents: SpoolContents

    private let descriptor: Int32
    private let path: String

    private init(_ descriptor: Int32, _ path: String, _ name: String, _ contents: SpoolContents) {
        self.descriptor = descriptor
        self.path = path
        self.name = name
        self.contents = contents
    }

    deinit { CommandSpool.release(self.descriptor) }

    /// Finds the spools in a directory that no program is using.
    ///
    /// - Parameters:
    ///   - directory: ``StateDirectory/spoolsPath``; it may be missing.
    ///   - failed: Called with a message for each file that cannot be read.
    /// - Returns: The spools, oldest first.
    package static func all(in directory: String, failed: (String) -> Void) -> [OrphanedSpool] {
        guard let stream = opendir(directory) else {
            if errno != ENOENT { failed("cannot read '\(directory)': \(String(cString: strerror(errno)))") }
            return []
        }
        defer { closedir(stream) }
        var found: [(time: Double, spool: OrphanedSpool)] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { failed("cannot read '\(directory)': \(String(cString: strerror(errno)))") }
                break
            }
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name == "." || name == ".." { continue }
            if let one = self.take(directory, name, failed) { found.append(one) }
        }
        return found.sorted { ($0.time, $0.spool.name) < ($1.time, $1.spool.name) }.map(\.spool)
    }

    /// Deletes the file: its calls were performed.
    package func remove() { unlink(self.path) }

    private static func take(
        _ directory: String,
        _ name: String,
        _ failed: (String) -> Void
    ) -> (time: Double, spool: OrphanedSpool)? {
        let path = directory + "/" + name
        let raw = systemOpen(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard raw >= 0 else {
            if errno != ENOENT { failed("cannot open '\(path)': \(String(cString: strerror(errno)))") }
            return nil
        }
        var status = stat()
        guard flock(raw, LOCK_EX | LOCK_NB) == 0, fstat(raw, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            // Deleted between opening and locking.
            status.st_nlink > 0
        else {
            close(raw)
            return nil
        }
        if name.hasPrefix(self.hiddenPrefix) {
            // Its program ended, or has not locked it yet: no call was accepted in it.
            if time(nil).subtracting(clamping: self.seconds(status)) > 60 { unlink(path) }
            CommandSpool.release(raw)
            return nil
        }
        guard let bytes = self.read(raw, Int(status.st_size)) else {
            failed("cannot read '\(path)': \(String(cString: strerror(errno)))")
            CommandSpool.release(raw)
            return nil
        }
        return (Double(self.seconds(status)), OrphanedSpool(raw, path, name, SpoolContents(parsing: bytes)))
    }

    /// The size of a spool in bytes above which it is damaged: a program's calls are answered while it appends.
    private static let longest = 1 << 30

    private static func read(_ raw: Int32, _ size: Int) -> [UInt8]? {
        guard size <= self.longest else {
            errno = EFBIG
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: size)
        var count = 0
        while count < size {
            let step = bytes.withUnsafeMutableBytes { buffer in
                pread(raw, buffer.baseAddress.map { $0 + count }, size - count, off_t(count))
            }
            if step < 0, errno == EINTR { continue }
            guard step >= 0 else { return nil }
            if step == 0 { break }
            count += step
        }
        bytes.removeLast(size - count)
        return bytes
    }

    private static func seconds(_ status: stat) -> Int { status.modificationTime.tv_sec }
}
