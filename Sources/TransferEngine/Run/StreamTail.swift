// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The last bytes of a stream.
struct StreamTail: Sendable {
    private let capacity: Int
    /// The bytes in order, until there are `capacity` of them; then the oldest one is at `start`.
    private var ring: [UInt8] = []
    private var start = 0

    init(capacity: Int) { self.capacity = capacity }

    /// Appends bytes; copies at most `capacity` of them.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes.part(max(0, bytes.count - self.capacity)..<bytes.count)
        if self.ring.count < self.capacity {
            let count = min(rest.count, self.capacity - self.ring.count)
            self.ring.append(contentsOf: rest.part(0..<count))
            rest = rest.part(count..<rest.count)
        }
        while !rest.isEmpty {
            let end = min(self.capacity, self.start + rest.count)
            let replaced = self.start..<end
            self.ring.withUnsafeMutableBytes { $0.part(replaced).copyMemory(from: rest.part(0..<replaced.count)) }
            self.start = end % self.capacity
            rest = rest.part(replaced.count..<rest.count)
        }
    }

    /// The last bytes, at most the capacity.
    var bytes: [UInt8] { Array(self.ring[self.start...] + self.ring[..<self.start]) }
}
