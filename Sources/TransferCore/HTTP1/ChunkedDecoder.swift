// SPDX-License-Identifier: Apache-2.0
/// Finds the data in a chunked body, up to the last chunk's line.
///
/// Chunk extensions are skipped. A bare LF is accepted as a line end from a server. A server that parses requests is
/// strict, because a proxy in front of it might parse a lenient form differently, which allows request smuggling.
///
/// - Source: RFC 9112 §7.1.
struct ChunkedDecoder: Sendable {
    /// The result of a step.
    enum Step {
        case needMore
        case data(Range<Int>)
        case lastChunk
    }

    private enum State: Sendable {
        /// Within the digits of a size.
        case size(value: Int64, digits: Int)
        /// After the digits, in blanks or an extension.
        case lineRest(size: Int64, inExtension: Bool)
        /// After the CR of a size line.
        case lineEnd(size: Int64)
        case data(remaining: Int64)
        /// After the data, before its line end.
        case dataEnd
        case dataEndLF
    }

    /// The maximum length of a line of size and extensions, in bytes.
    static let maximumLineLength = 16 * 1024

    private var state = State.size(value: 0, digits: 0)
    private var lineLength = 0
    private let isStrict: Bool

    /// Creates a decoder.
    ///
    /// - Parameter isStrict: Whether a bare LF is refused.
    init(isStrict: Bool = false) { self.isStrict = isStrict }

    /// Continues at `consumed` and advances it.
    mutating func next(
        _ input: UnsafeRawBufferPointer,
        consumed: inout Int
    ) throws(HTTP1Error) -> Step {
        while consumed < input.count {
            if case .data(let remaining) = self.state {
                let start = consumed
                let length = Int(min(Int64(input.count - start), remaining))
                consumed += length
                let left = remaining - Int64(length)
                self.state = left == 0 ? .dataEnd : .data(remaining: left)
                return .data(start..<consumed)
            }
            // Bounds: the loop compares `consumed` with the count; a length of data is at most what remains.
            let byte = input[consumed]
            consumed += 1
            if try self.take(byte) { return .lastChunk }
        }
        return .needMore
    }

    /// Processes one byte of framing; returns whether the last chunk's line ends with it.
    private mutating func take(_ byte: UInt8) throws(HTTP1Error) -> Bool {
        switch self.state {
        case .size(let value, let digits):
            try self.countLineByte()
            if let digit = Byte.hexValue(byte) {
                guard value <= Int64.max >> 4 else { throw .chunkSizeOverflow }
                self.state = .size(value: value << 4 | digit, digits: digits + 1)
                return false
            }
            guard digits > 0 else { throw .invalidChunk }
            return try self.takeLineRest(byte, size: value, inExtension: false)
        case .lineRest(let size, let inExtension):
            try self.countLineByte()
            return try self.takeLineRest(byte, size: size, inExtension: inExtension)
        case .lineEnd(let size):
            guard byte == Byte.lf else { throw .invalidChunk }
            return self.endLine(size: size)
        case .dataEnd:
            guard byte == Byte.cr || byte == Byte.lf && !self.isStrict else { throw .invalidChunk }
            self.state = byte == Byte.cr ? .dataEndLF : .size(value: 0, digits: 0)
            return false
        case .dataEndLF:
            guard byte == Byte.lf else { throw .invalidChunk }
            self.state = .size(value: 0, digits: 0)
            return false
        case .data:
            return false
        }
    }

    private mutating func takeLineRest(_ byte: UInt8, size: Int64, inExtension: Bool) throws(HTTP1Error) -> Bool {
        switch byte {
        case Byte.lf:
            guard !self.isStrict else { throw .invalidChunk }
            return self.endLine(size: size)
        case Byte.cr:
            self.state = .lineEnd(size: size)
        case Byte.nul:
            throw .invalidChunk
        case Byte.semicolon:
            self.state = .lineRest(size: size, inExtension: true)
        default:
            guard inExtension || Byte.isBlank(byte) else { throw .invalidChunk }
            self.state = .lineRest(size: size, inExtension: inExtension)
        }
        return false
    }

    private mutating func endLine(size: Int64) -> Bool {
        self.lineLength = 0
        guard size > 0 else { return true }
        self.state = .data(remaining: size)
        return false
    }

    private mutating func countLineByte() throws(HTTP1Error) {
        self.lineLength += 1
        guard self.lineLength <= Self.maximumLineLength else { throw .chunkLineTooLong }
    }
}
