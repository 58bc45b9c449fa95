// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// The sizes of a connection's reads: they grow while reads fill the buffer, as those of a fast transfer do.
///
/// A large read acknowledges many segments at once: of the CPU time of a fast transfer, half were acknowledgements and what
/// the sender did in response. The connections of an event loop share a budget. NIO keeps a buffer that has grown, so the
/// sizes do not shrink.
struct ReadSizes: RecvByteBufferAllocator {
    /// The size of a first read, in bytes.
    static let initial = 64 * 1024
    private static let largest = 512 * 1024
    private static let budget = 4 * 1024 * 1024

    private let lane: TransportLoop
    private var size = Self.initial

    init(lane: TransportLoop) { self.lane = lane }

    /// The size to which reads may grow while an event loop has a number of connections.
    static func limit(connectionCount: Int) -> Int {
        max(Self.initial, min(Self.largest, Self.budget / max(1, connectionCount)))
    }

    mutating func record(actualReadBytes: Int) -> Bool {
        guard actualReadBytes >= self.size, self.size * 2 <= Self.limit(connectionCount: self.lane.connectionCount)
        else { return false }
        self.size *= 2
        return true
    }

    func nextBufferSize() -> Int? { self.size }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { allocator.buffer(capacity: self.size) }
}
