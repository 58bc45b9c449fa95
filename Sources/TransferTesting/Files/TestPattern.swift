// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore

/// Pseudo-random content in which each byte is a function of a seed and the byte's offset.
///
/// A server can send, and a test can verify, any range of a file of any length without storing the file.
public struct TestPattern: Sendable, Hashable {
    /// The seed, which determines the content.
    public let seed: UInt64

    /// Creates the content of a seed.
    public init(seed: UInt64 = 1) {
        self.seed = seed
    }

    /// The byte at an offset.
    public subscript(offset: Int64) -> UInt8 {
        UInt8(truncatingIfNeeded: self.word(UInt64(bitPattern: offset) >> 3) >> (UInt64(bitPattern: offset & 7) * 8))
    }

    /// The bytes of a half-open range of offsets.
    ///
    /// - Precondition: The lower bound is at least 0, and the range fits in memory.
    public func bytes(_ range: Range<Int64>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            self.fill(UnsafeMutableRawBufferPointer(buffer), from: range.lowerBound)
            count = range.count
        }
    }

    /// Fills a buffer with the bytes from an offset on.
    public func fill(_ buffer: UnsafeMutableRawBufferPointer, from offset: Int64) {
        var index = 0
        while index < buffer.count, (offset + Int64(index)) & 7 != 0 {
            buffer[index] = self[offset + Int64(index)]
            index += 1
        }
        while buffer.count - index >= 8 {
            let word = self.word(UInt64(bitPattern: offset + Int64(index)) >> 3)
            buffer.storeBytes(of: word.littleEndian, toByteOffset: index, as: UInt64.self)
            index += 8
        }
        while index < buffer.count {
            buffer[index] = self[offset + Int64(index)]
            index += 1
        }
    }

    /// The first offset at which `bytes`, which begin at `offset`, differ from this content; `nil` if they are equal.
    public func firstDifference(in bytes: UnsafeRawBufferPointer, from offset: Int64 = 0) -> Int64? {
        let expected = self.bytes(offset..<(offset + Int64(bytes.count)))
        return expected.withUnsafeBytes { expected -> Int64? in
            guard let left = expected.baseAddress, let right = bytes.baseAddress,
                memcmp(left, right, bytes.count) != 0
            else { return nil }
            let index = expected.indices.first { expected[$0] != bytes[$0] }
            return index.map { offset + Int64($0) }
        }
    }

    /// Describes how the file at a path differs from the first `length` bytes of this content; `nil` if it is equal.
    public func difference(fromFileAt path: String, length: Int64) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "\(path) cannot be opened: \(String(cString: strerror(errno)))" }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 256 * 1024)
        var offset: Int64 = 0
        while true {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 { return "\(path) cannot be read: \(String(cString: strerror(errno)))" }
            if count == 0 { break }
            let wrong = buffer.withUnsafeBytes { self.firstDifference(in: $0.part(0..<count), from: offset) }
            if let wrong, wrong < length { return "\(path) has a wrong byte at offset \(wrong) of \(length)" }
            offset += Int64(count)
        }
        return offset == length ? nil : "\(path) is \(offset) bytes long instead of \(length)"
    }

    /// The output of SplitMix64 at an index of its sequence.
    private func word(_ index: UInt64) -> UInt64 {
        var word = self.seed &* 0xD134_2543_DE82_EF95 &+ (index &+ 1) &* 0x9E37_79B9_7F4A_7C15
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
