// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import Platform

/// A snapshot of transfers in an unnamed file.
///
/// Reading it does not use the database. The file is freed with this object.
package final class SpooledList: Sendable {
    /// The number of transfers.
    package let count: Int
    private let file: SpoolFile
    private let path: String

    private struct Cursor {
        var offset: Int64 = 0
        var left: Int
        var names: [Int64: String]
    }

    private let cursor: Mutex<Cursor>

    init(_ file: SpoolFile, count: Int, names: [Int64: String], path: String) {
        self.file = file
        self.count = count
        self.path = path
        self.cursor = Mutex(Cursor(left: count, names: names))
    }

    /// Returns the next transfers, at most `limit`; none at the end.
    ///
    /// Blocks on reading the file: do not call it on an event loop.
    ///
    /// - Throws: `inputOutput`.
    package func next(_ limit: Int) throws(QueueStoreError) -> [StoredTransfer] {
        try self.cursor.withLock { (cursor) throws(QueueStoreError) in
            var found: [StoredTransfer] = []
            while found.count < limit, cursor.left > 0 {
                let bytes = try self.file.read(at: cursor.offset, atLeast: SpoolRecord.headLength)
                var rest = bytes[...]
                let before = found.count
                while found.count < limit, cursor.left > 0, let record = SpoolRecord.next(&rest) {
                    found.append(try record.transfer(cursor.names, self.path))
                    cursor.left -= 1
                }
                let used = bytes.count - rest.count
                guard found.count == before else {
                    cursor.offset += Int64(used)
                    continue
                }
                // A record that is longer than the bytes read.
                guard let length = SpoolRecord.length(rest) else { throw .damaged(self.path, "its list was cut") }
                var whole = try self.file.read(at: cursor.offset, atLeast: length)[...]
                guard let record = SpoolRecord.next(&whole) else { throw .damaged(self.path, "its list was cut") }
                found.append(try record.transfer(cursor.names, self.path))
                cursor.left -= 1
                cursor.offset += Int64(length)
            }
            return found
        }
    }
}

/// An unnamed file in a directory.
final class SpoolFile: Sendable {
    private let descriptor: Int32
    private let directory: String
    private static let stretch = 256 << 10

    init(directory: String) throws(QueueStoreError) {
        var template = Array((directory + "/.list-XXXXXX").utf8CString)
        self.descriptor = mkstemp(&template)
        self.directory = directory
        guard self.descriptor >= 0 else { throw Self.error(directory, errno) }
        unlink(template)
        _ = fcntl(self.descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(self.descriptor) }

    /// Writes all bytes at an offset, which the caller tracks.
    func write(_ bytes: [UInt8], at offset: Int64) throws(QueueStoreError) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                pwrite(
                    self.descriptor,
                    bytes.baseAddress.map { $0 + done },
                    bytes.count - done,
                    off_t(offset) + off_t(done)
                )
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.error(self.directory, errno) }
            done += count
        }
    }

    /// Reads 256 KiB of the file, or `least` bytes if that is more; fewer at the end.
    func read(at offset: Int64, atLeast least: Int) throws(QueueStoreError) -> [UInt8] {
        let wanted = max(least, Self.stretch)
        var number: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, length in
            while length < wanted {
                let base = buffer.baseAddress.map { UnsafeMutableRawPointer($0 + length) }
                let count = pread(self.descriptor, base, wanted - length, off_t(offset) + off_t(length))
                if count < 0, errno == EINTR { continue }
                if count < 0 { number = errno }
                guard count > 0 else { return }
                length += count
            }
        }
        guard number == 0 else { throw Self.error(self.directory, number) }
        return bytes
    }

    private static func error(_ directory: String, _ number: Int32) -> QueueStoreError {
        let reason = String(cString: strerror(number))
        if number == ENOSPC || number == EDQUOT || number == EFBIG { return .full(directory, reason) }
        return QueueStoreError(.inputOutput, "a list cannot be kept in '\(directory)' (\(reason)); look at the disk")
    }
}
