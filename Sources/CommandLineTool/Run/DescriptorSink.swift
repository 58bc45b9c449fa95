// SPDX-License-Identifier: Apache-2.0
import Platform
internal import Synchronization
internal import TransferCore
import TransferEngine

/// A descriptor as a file's destination: standard output (`-o -`), a device or a named pipe.
final class DescriptorSink: ByteSink {
    /// Ways to write without waiting for a reader.
    private enum Promptness: UInt8, AtomicRepresentable {
        /// Every write is prompt: to a regular file, which is no slower than a downloaded one, and to /dev/null.
        case always
        /// A pipe takes what there is room for, and is enlarged when it is full for the first time.
        case untilFull
        /// A pipe takes what there is room for.
        case whileThereIsRoom
        /// A terminal, a socket, or a pipe of a system that cannot do this.
        case never
    }

    private let descriptor: Int32
    private let name: String
    private let promptness: Atomic<Promptness>

    /// Writes to standard output.
    init() {
        self.descriptor = STDOUT_FILENO
        self.name = "standard output"
        self.promptness = Atomic(Self.promptness(of: STDOUT_FILENO))
    }

    /// Opens a device or a named pipe; blocks until the pipe has a reader.
    ///
    /// - Throws: ``SyntaxError`` if it cannot be opened.
    init(opening path: String) throws(SyntaxError) {
        self.name = DisplayText.clean(path)
        self.descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
        self.promptness = Atomic(Self.promptness(of: self.descriptor))
        guard self.descriptor >= 0 else {
            throw SyntaxError("\(self.name) cannot be opened for writing: \(String(cString: strerror(errno)))")
        }
    }

    deinit { if self.descriptor != STDOUT_FILENO { close(self.descriptor) } }

    /// Whether a path is a character device or a named pipe, which is written to instead of being replaced.
    static func isDevice(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return [S_IFCHR, S_IFIFO].contains(status.st_mode & S_IFMT)
    }

    private static func promptness(of descriptor: Int32) -> Promptness {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return .never }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .always
        case S_IFIFO: return .untilFull
        case S_IFCHR:
            var null = stat()
            return stat("/dev/null", &null) == 0 && null.st_rdev == status.st_rdev ? .always : .never
        default: return .never
        }
    }

    func writeAvailable(_ bytes: UnsafeRawBufferPointer) throws(StorageError) -> Int {
        let count: Int
        switch self.promptness.load(ordering: .relaxed) {
        case .always: count = systemWrite(self.descriptor, bytes.baseAddress, bytes.count)
        case .untilFull: count = self.fill(bytes)
        case .whileThereIsRoom: count = KernelCalls.writeWithoutWaiting(self.descriptor, bytes)
        case .never: return 0
        }
        if count >= 0 { return count }
        switch errno {
        case EAGAIN, EINTR: return 0
        case EPIPE, EIO, ENOSPC, EDQUOT, EFBIG: throw self.error(errno)
        default:
            // What this way to write cannot do, the usual one may.
            self.promptness.store(.never, ordering: .relaxed)
            return 0
        }
    }

    /// Writes to a pipe of the usual 64 KiB, which a fast transfer fills with each read: a larger one is written to at once,
    /// instead of by another thread.
    private func fill(_ bytes: UnsafeRawBufferPointer) -> Int {
        let count = KernelCalls.writeWithoutWaiting(self.descriptor, bytes)
        guard count >= 0 ? count < bytes.count : errno == EAGAIN else { return count }
        KernelCalls.enlargePipe(self.descriptor, to: Self.pipeSize)
        self.promptness.store(.whileThereIsRoom, ordering: .relaxed)
        let written = max(0, count)
        let more = KernelCalls.writeWithoutWaiting(self.descriptor, bytes.part(written..<bytes.count))
        // A failure of the second part is found by the next call.
        return written > 0 ? written + max(0, more) : more
    }

    /// The most that an unprivileged process may ask for.
    private static let pipeSize: Int32 = 1 << 20

    /// Writes all bytes; blocks while the reader does not read.
    func write(_ bytes: [UInt8]) throws(StorageError) {
        let failure = bytes.withUnsafeBytes { bytes -> Int32 in
            var rest = bytes
            while !rest.isEmpty {
                let count = systemWrite(self.descriptor, rest.baseAddress, rest.count)
                if count >= 0 {
                    rest = rest.part(count..<rest.count)
                } else if errno == EAGAIN {
                    var ready = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&ready, 1, 1000)
                } else if errno != EINTR {
                    return errno
                }
            }
            return 0
        }
        if failure != 0 { throw self.error(failure) }
    }

    private func error(_ number: Int32) -> StorageError {
        let reason = number == EPIPE ? "its reader closed it" : String(cString: strerror(number))
        return StorageError(.inputOutput, "writing to \(self.name) failed: \(reason)", errno: number)
    }
}
