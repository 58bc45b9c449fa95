// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform
internal import TransferCore

extension FileDescriptor {
    /// Reads a complete range; throws `.inputOutput` if the file is shorter or the range is invalid.
    func bytes(_ range: ByteRange, path: String) throws(StorageError) -> [UInt8] {
        guard range.lowerBound >= 0, let size = self.status()?.st_size, range.upperBound <= Int64(size) else {
            throw StorageError(.inputOutput, "cannot read '\(path)': it is shorter than expected; download it again")
        }
        var number: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            let result = self.read(into: UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
            if result < 0 { number = Int32(-result) }
            count = max(0, min(result, range.count))
        }
        if number == 0, bytes.count < range.count { number = PrefixDigests.tooShort }
        if number != 0 { throw StorageError(errno: number, otherwise: .inputOutput, "cannot read", path) }
        return bytes
    }
}
