// SPDX-License-Identifier: Apache-2.0
package import TransferCore
internal import Platform

/// The calls of one program for its background session, in a file that outlives the program.
///
/// A call is written before it is sent. If the program ends before the daemon has responded, the daemon reads the file
/// and performs the remaining calls; see ``OrphanedSpool``. The program has a kernel lock (flock(2)) on the file, which
/// ends with the process: a file without a lock has no owner. Writes survive the end of the process, not a power cut.
package final class CommandSpool: Sendable {
    private let descriptor: Int32
    private let path: String
    private let headLength: Int64

    private init(_ descriptor: Int32, _ path: String, _ headLength: Int64) {
        self.descriptor = descriptor
        self.path = path
        self.headLength = headLength
    }

    deinit { Self.release(self.descriptor) }

    /// Creates a spool with the opening of its session.
    ///
    /// - Parameters:
    ///   - directory: ``StateDirectory/spoolsPath``; created if it is missing.
    ///   - name: A name that no other spool has.
    ///   - opening: The parameters of `martlet.openSession`.
    /// - Returns: The spool, which this process owns.
    /// - Throws: ``ControlError`` with `diskFull`, `forbidden` or `storage`.
    package static func make(in directory: String, name: String, opening: JSON) throws(ControlError) -> CommandSpool {
        if mkdir(directory, 0o700) != 0, errno != EEXIST { throw PosixPath.cannotMake(directory) }
        let path = directory + "/" + name
        // The daemon ignores this name; the file is renamed once it is locked.
        let hidden = directory + "/" + OrphanedSpool.hiddenPrefix + name
        let raw = systemOpen(hidden, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard raw >= 0 else { throw PosixPath.cannotMake(path) }
        let call = SpooledCall(number: 0, key: "open", method: "martlet.openSession", parameters: opening)
        let head = Self.bytes(.call(call))
        guard flock(raw, LOCK_EX | LOCK_NB) == 0, Self.write(head, to: raw), rename(hidden, path) == 0 else {
            let error = PosixPath.cannotMake(path)
            Self.release(raw)
            unlink(hidden)
            throw error
        }
        return CommandSpool(raw, path, Int64(head.count))
    }

    /// Appends a call; when this returns, it survives the end of the process.
    ///
    /// - Throws: ``ControlError`` with `diskFull` or `storage`; then nothing was appended.
    package func append(_ call: SpooledCall) throws(ControlError) {
        guard Self.write(Self.bytes(.call(call)), to: self.descriptor) else { throw PosixPath.cannotMake(self.path) }
    }

    /// Records that the daemon has responded to calls.
    ///
    /// - Parameters:
    ///   - numbers: The numbers of the calls.
    ///   - isAll: Whether no calls remain; then the file is emptied.
    package func answered(_ numbers: [Int64], isAll: Bool) {
        // After a failure the daemon performs the calls again, which changes nothing.
        if isAll, ftruncate(self.descriptor, off_t(self.headLength)) == 0 { return }
        _ = Self.write(Self.bytes(.answered(numbers)), to: self.descriptor)
    }

    /// Deletes the file: none of its calls is to be performed.
    package func remove() { unlink(self.path) }

    private static func bytes(_ line: SpoolLine) -> [UInt8] { line.json.bytes + [0x0A] }

    /// Appends all bytes or none; otherwise sets `errno`.
    private static func write(_ bytes: [UInt8], to raw: Int32) -> Bool {
        var status = stat()
        guard fstat(raw, &status) == 0 else { return false }
        var count = 0
        while count < bytes.count {
            let written = bytes[count...].withUnsafeBytes { systemWrite(raw, $0.baseAddress, $0.count) }
            if written > 0 {
                count += written
                continue
            }
            if written < 0, errno == EINTR { continue }
            let reason = written == 0 ? ENOSPC : errno
            _ = ftruncate(raw, status.st_size)
            errno = reason
            return false
        }
        return true
    }

    /// Unlocked explicitly: a child process that is being started may have a copy of the descriptor.
    static func release(_ raw: Int32) {
        _ = flock(raw, LOCK_UN)
        close(raw)
    }
}
