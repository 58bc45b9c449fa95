// SPDX-License-Identifier: Apache-2.0
import Crypto
import Platform
import Synchronization
package import TransferTesting

/// The bytes of one version of a resource.
package final class SimulatedContent: Sendable {
    package let bytes: [UInt8]
    private let digest = Mutex<[UInt8]?>(nil)

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The SHA-256 digest, computed once: a world asks for it again and again.
    package var sha256: [UInt8] {
        self.digest.withLock { digest in
            let known = digest ?? Array(SHA256.hash(data: self.bytes))
            digest = known
            return known
        }
    }

    package var length: Int64 { Int64(self.bytes.count) }

    /// Random bytes, from which all contents are cut: generating them for each world would take longer than the world.
    private static let pool: [UInt8] = {
        var generator = SeededGenerator(seed: 34)
        return [UInt8](unsafeUninitializedCapacity: 8 << 20) { buffer, count in
            let words = UnsafeMutableRawBufferPointer(buffer)
            for index in stride(from: 0, to: buffer.count, by: 8) {
                words.storeBytes(of: generator.next(), toByteOffset: index, as: UInt64.self)
            }
            count = buffer.count
        }
    }()

    /// Random content: contents of other places of the pool share no 16 bytes with it.
    package static func random(_ length: Int, using generator: inout SeededGenerator) -> [UInt8] {
        let start = Int.random(in: 0...(self.pool.count - length), using: &generator)
        return Array(self.pool[start..<start + length])
    }

    /// Whether these are the content's bytes.
    package func equals(_ other: [UInt8]) -> Bool { Self.areEqual(self.bytes, other) }

    /// Whether two arrays are equal; `==` compares byte by byte.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count
            && left.withUnsafeBytes { left in
                right.withUnsafeBytes { right in
                    guard let start = left.baseAddress, let other = right.baseAddress else { return true }
                    return memcmp(start, other, left.count) == 0
                }
            }
    }
}
