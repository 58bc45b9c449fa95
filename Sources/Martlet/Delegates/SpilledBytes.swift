// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferEngine

internal import Platform

/// Bytes of one body that their recipients cannot take yet, in a temporary file without a name.
final class SpilledBytes: Sendable {
    /// The place of some bytes in the file.
    struct Place: Sendable {
        var offset: Int64
        var count: Int
    }

    private let descriptor: Int32
    private let end = Mutex<Int64>(0)

    /// Creates the file in the directory for temporary files.
    ///
    /// - Throws: ``TransferError`` with `file`.
    init() throws(TransferError) {
        let directory = TemporaryPlace.default
        try TemporaryPlace.prepare(directory)
        let path = directory + "/" + TemporaryPlace.name()
        self.descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard self.descriptor >= 0 else {
            throw TransferError(.file, "cannot create '\(path)': \(String(cString: strerror(errno)))")
        }
        unlink(path)
    }

    deinit { close(self.descriptor) }

    /// Appends bytes; `nil` if the disk is full or fails.
    func append(_ bytes: [UInt8]) -> Place? {
        self.end.withLock { end in
            var count = 0
            while count < bytes.count {
                let written = bytes[count...]
                    .withUnsafeBytes { pwrite(self.descriptor, $0.baseAddress, $0.count, off_t(end) + off_t(count)) }
                if written < 0, errno == EINTR { continue }
                guard written > 0 else { return nil }
                count += written
            }
            defer { end += Int64(count) }
            return Place(offset: end, count: count)
        }
    }

    /// Reads bytes back; `nil` if the disk fails.
    func read(_ place: Place) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: place.count)
        var count = 0
        while count < place.count {
            let step = bytes[count...]
                .withUnsafeMutableBytes {
                    pread(self.descriptor, $0.baseAddress, $0.count, off_t(place.offset) + off_t(count))
                }
            if step < 0, errno == EINTR { continue }
            guard step > 0 else { return nil }
            count += step
        }
        return bytes
    }
}
