// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore

extension FileDescriptor {
    /// Whether a file has these bytes at an offset; bytes after the end differ.
    ///
    /// Reads in pieces of 64 KiB, into temporary memory.
    package func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Result<Bool, SystemError> {
        withUnsafeTemporaryAllocation(byteCount: min(bytes.count, 64 << 10), alignment: 16) { buffer in
            var done = 0
            while done < bytes.count {
                let piece = bytes.part(done..<min(done + buffer.count, bytes.count))
                let read = buffer.part(0..<piece.count)
                let count = self.read(into: read, at: offset + Int64(done))
                if count < 0 { return .failure(SystemError(number: Int32(-count))) }
                guard count == piece.count, Self.areEqual(UnsafeRawBufferPointer(read), piece) else {
                    return .success(false)
                }
                done += piece.count
            }
            return .success(true)
        }
    }

    private static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard let first = left.baseAddress, let second = right.baseAddress else { return left.count == right.count }
        return left.count == right.count && memcmp(first, second, left.count) == 0
    }
}
