// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore

/// Reads a descriptor line by line through a buffer of fixed size, which bounds the memory for lists of any length.
struct LineReader: ~Copyable {
    /// The result of a read.
    enum Line: Equatable {
        /// A line without its line end.
        case text([UInt8])
        /// A line longer than the buffer; it was skipped.
        case tooLong
    }

    /// The maximum length of a line, in bytes.
    static let limit = 256 << 10

    private let descriptor: Int32
    private let closes: Bool
    private var buffer: [UInt8]
    private var start = 0
    private var end = 0
    private var atEnd = false

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, open for reading.
    ///   - closes: Whether the reader closes the descriptor when it is destroyed.
    ///   - capacity: The maximum length of a line, in bytes.
    init(descriptor: Int32, closes: Bool, capacity: Int = LineReader.limit) {
        self.descriptor = descriptor
        self.closes = closes
        self.buffer = [UInt8](repeating: 0, count: max(capacity, 16))
    }

    deinit { if self.closes { close(self.descriptor) } }

    /// Returns the next line, or `nil` at the end.
    ///
    /// - Throws: ``SyntaxError`` with the system's reason if reading fails.
    mutating func next() throws(SyntaxError) -> Line? {
        var passedOver = false
        var searched = self.start
        while true {
            if let feed = self.buffer[searched..<self.end].firstIndex(of: 0x0A) {
                let line = self.buffer[self.start..<feed]
                self.start = feed + 1
                return passedOver ? .tooLong : .text(self.withoutReturn(line))
            }
            if self.atEnd {
                guard self.start < self.end || passedOver else { return nil }
                let line = self.buffer[self.start..<self.end]
                self.start = self.end
                return passedOver ? .tooLong : .text(self.withoutReturn(line))
            }
            if self.start > 0 {
                self.buffer.replaceSubrange(
                    0..<(self.end - self.start),
                    with: Array(self.buffer[self.start..<self.end])
                )
                self.end -= self.start
                self.start = 0
            }
            if self.end == self.buffer.count {
                passedOver = true
                self.end = 0
            }
            searched = self.end
            try self.fill()
        }
    }

    private mutating func fill() throws(SyntaxError) {
        let count = self.buffer.withUnsafeMutableBytes { bytes in
            let room = bytes.part(self.end..<bytes.count)
            while true {
                let count = read(self.descriptor, room.baseAddress, min(room.count, 64 << 10))
                guard count < 0, errno == EINTR || errno == EAGAIN else { return count }
                // Another process made the shared terminal or pipe non-blocking: wait until it is readable.
                var ready = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
                if errno == EAGAIN { poll(&ready, 1, -1) }
            }
        }
        guard count >= 0 else { throw SyntaxError("reading failed: \(String(cString: strerror(errno)))") }
        self.end += count
        self.atEnd = count == 0
    }

    private func withoutReturn(_ line: ArraySlice<UInt8>) -> [UInt8] {
        Array(line.last == 0x0D ? line.dropLast() : line)
    }
}
