#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif
import TransferEngine

/// Standard output as a place for a file's bytes (`-o -`).
final class StandardOutputSink: ByteSink {
    /// Writes all the bytes; blocks as long as the reader does not read.
    func write(_ bytes: [UInt8]) throws(StorageError) {
        let failure = bytes.withUnsafeBytes { bytes -> Int32 in
            var rest = bytes
            while !rest.isEmpty {
                let count = systemWrite(STDOUT_FILENO, rest.baseAddress, rest.count)
                if count >= 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                } else if errno == EAGAIN {
                    var ready = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                    poll(&ready, 1, 1000)
                } else if errno != EINTR {
                    return errno
                }
            }
            return 0
        }
        guard failure != 0 else { return }
        let reason = failure == EPIPE ? "its reader closed it" : String(cString: strerror(failure))
        throw StorageError(.inputOutput, "writing to standard output failed: \(reason)", errno: failure)
    }
}
