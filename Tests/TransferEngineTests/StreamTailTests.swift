// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferEngine

@Suite("The last bytes of a stream")
struct StreamTailTests {
    @Test(
        "pieces of any size leave the last bytes, in order",
        arguments: [[1], [3, 10, 2], [7, 8, 9, 1000], [10], [0, 25]]
    )
    func keepsTheLastBytes(sizes: [Int]) {
        let capacity = 10
        var tail = StreamTail(capacity: capacity)
        var all: [UInt8] = []
        for round in 0..<40 {
            let piece = (0..<sizes[round % sizes.count]).map { UInt8(truncatingIfNeeded: all.count + $0) }
            piece.withUnsafeBytes { tail.append($0) }
            all += piece
            #expect(tail.bytes == all.suffix(capacity))
        }
    }
}
