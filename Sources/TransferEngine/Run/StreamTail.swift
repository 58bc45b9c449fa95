// SPDX-License-Identifier: Apache-2.0
/// The last bytes of a stream.
struct StreamTail: Sendable {
    private let capacity: Int
    /// Pieces in order; together they contain at least the last `capacity` bytes of the stream.
    private var pieces: [[UInt8]] = []
    private var count = 0

    init(capacity: Int) { self.capacity = capacity }

    /// Appends bytes; copies at most `capacity` of them.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        let kept = bytes.suffix(self.capacity)
        if kept.count == self.capacity {
            self.pieces.removeAll(keepingCapacity: true)
            self.count = 0
        }
        self.pieces.append(Array(kept))
        self.count += kept.count
        while let first = self.pieces.first, self.count - first.count >= self.capacity {
            self.pieces.removeFirst()
            self.count -= first.count
        }
        // Small pieces are joined to bound their number.
        if self.pieces.count > 64 { self.pieces = [Array(self.pieces.joined())] }
    }

    /// The last bytes, at most the capacity.
    var bytes: [UInt8] { Array(self.pieces.joined().suffix(self.capacity)) }
}
