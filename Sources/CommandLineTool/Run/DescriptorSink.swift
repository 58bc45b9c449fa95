// SPDX-License-Identifier: Apache-2.0
import Platform
internal import TransferCore
import TransferEngine

/// A descriptor as a file's destination: standard output (`-o -`), a device or a named pipe.
final class DescriptorSink: ByteSink {
    private let descriptor: Int32
    private let name: String

    /// Writes to standard output.
    init() {
        self.descriptor = STDOUT_FILENO
        self.name = "standard output"
    }

    /// Opens a device or a named pipe; blocks until the pipe has a reader.
    ///
    /// - Throws: ``BadValue`` if it cannot be opened.
    init(opening path: String) throws(BadValue) {
        self.name = DisplayText.clean(path)
        self.descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
        guard self.descriptor >= 0 else {
            throw BadValue("\(self.name) cannot be opened for writing: \(String(cString: strerror(errno)))")
        }
    }

    deinit { if self.descriptor != STDOUT_FILENO { close(self.descriptor) } }

    /// Whether a path is a character device or a named pipe, which is written to instead of being replaced.
    static func isDevice(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return [S_IFCHR, S_IFIFO].contains(status.st_mode & S_IFMT)
    }

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
        guard failure != 0 else { return }
        let reason = failure == EPIPE ? "its reader closed it" : String(cString: strerror(failure))
        throw StorageError(.inputOutput, "writing to \(self.name) failed: \(reason)", errno: failure)
    }
}
