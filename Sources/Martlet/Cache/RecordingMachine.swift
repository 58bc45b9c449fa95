// SPDX-License-Identifier: Apache-2.0

/// The body of a response that is being stored: the bytes that are collected, those that wait for the disk, and the end.
///
/// Bytes are written in blocks, and the exchange pauses while too many of them wait for the disk. Pure value.
package struct RecordingMachine: Sendable {
    /// The step after bytes were appended.
    package enum Step: Equatable {
        case nothing
        /// The block is written; if it pauses, the exchange waits until ``wrote(_:)`` or ``end()`` returns true.
        case write([UInt8], pauses: Bool)
        /// The body is longer than permitted: nothing of it is stored.
        case tooLong
    }

    private enum Phase { case receiving, finished, ended }

    /// The size of the blocks in bytes; a shorter body is written at once when it is complete.
    package static let block = 256 << 10
    /// The counts in bytes at which reading pauses (above `high`) and resumes (at most `low`).
    package static let high = 2 << 20
    package static let low = 512 << 10

    private let expected: Int64?
    private let limit: Int64
    private var phase = Phase.receiving
    private var collected: [UInt8] = []
    private var length: Int64 = 0
    /// Bytes of unwritten blocks.
    private var unwritten = 0
    private var isPaused = false

    /// - Parameters:
    ///   - expected: The length of the body in bytes, or `nil` if its end shows it.
    ///   - limit: The largest accepted body in bytes.
    package init(expected: Int64?, limit: Int64) {
        self.expected = expected
        self.limit = limit
    }

    /// Whether nothing more is written.
    package var hasEnded: Bool { self.phase == .ended }

    /// Whether the body has the length that the response declares.
    package var isComplete: Bool { self.length == self.expected }

    /// Appends bytes of the body.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) -> Step {
        guard self.phase == .receiving else { return .nothing }
        self.length += Int64(bytes.count)
        if self.length > self.limit { return .tooLong }
        self.collected.append(contentsOf: bytes)
        guard self.collected.count >= Self.block else { return .nothing }
        let block = self.take()
        self.unwritten += block.count
        if self.unwritten > Self.high { self.isPaused = true }
        return .write(block, pauses: self.isPaused)
    }

    /// Records that a block was written, or dropped after the end.
    ///
    /// - Returns: Whether the exchange, which was paused, continues.
    package mutating func wrote(_ count: Int) -> Bool {
        self.unwritten -= count
        return self.unwritten <= Self.low && self.resume()
    }

    /// Ends the body.
    ///
    /// - Returns: The last bytes, which are written before the entry is committed; `nil` if the body has ended before.
    package mutating func finish() -> [UInt8]? {
        guard self.phase == .receiving else { return nil }
        self.phase = .finished
        return self.take()
    }

    /// Ends the recording: nothing more is written.
    ///
    /// - Returns: Whether the exchange, which was paused, continues.
    package mutating func end() -> Bool {
        self.phase = .ended
        self.collected = []
        return self.resume()
    }

    private mutating func take() -> [UInt8] {
        defer { self.collected = [] }
        return self.collected
    }

    private mutating func resume() -> Bool {
        defer { self.isPaused = false }
        return self.isPaused
    }
}
