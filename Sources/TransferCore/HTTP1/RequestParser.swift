// SPDX-License-Identifier: Apache-2.0
/// Parses consecutive HTTP/1 requests in place.
///
/// Pure value: it performs no I/O and stores no input except a head or trailers that arrived in pieces. No input of a
/// peer can make it trap. It must not be used after an error.
///
/// - Source: RFC 9112.
package struct RequestParser: Sendable {
    /// The result of a call of ``next(_:consumed:)``.
    package enum Part: Sendable {
        /// All input was consumed: continue with more.
        case needMore
        /// A request's head.
        case head(RequestHead)
        /// Bytes of the content: a range of the input.
        case body(Range<Int>)
        /// The request is complete; the next call parses the next one.
        case end(trailers: HeaderFields)
    }

    /// The limits on everything that a client may send except the content.
    package struct Limits: Sendable, Hashable {
        /// The maximum size of one head in bytes.
        package var headBytes: Int = 32 * 1024
        /// The maximum length of a request target in bytes.
        package var targetBytes: Int = 8 * 1024
        /// The maximum number of field lines of a head, or of trailers.
        package var fields: Int = 128
        /// The maximum size of trailer fields in bytes.
        package var trailerBytes: Int = 8 * 1024

        /// Creates the default limits.
        package init() {}
    }

    private enum State: Sendable {
        /// Before the first byte of a head.
        case start
        case head
        case length(remaining: Int64)
        case chunked
        case trailers
        /// The end is to be reported.
        case end
    }

    private let limits: Limits
    private var state = State.start
    // Bounds: `consumed` is in `0...input.count`, as the precondition of `next` says, and is advanced past bytes that exist: by
    // one after a comparison with the count, by the scanner, by the decoder, or by at most what remains.
    private var scanner = BlankLineScanner(atLineStart: false)
    private var chunks = ChunkedDecoder(isStrict: true)
    private var pieces: [UInt8] = []
    private var blockBytes = 0

    package init(limits: Limits = Limits()) { self.limits = limits }

    /// Whether a request's head has started and is incomplete.
    package var isInHead: Bool { if case .head = self.state { true } else { false } }

    /// Whether no byte of a request has arrived since the last one ended.
    package var isAtStart: Bool { if case .start = self.state { true } else { false } }

    /// Parses from `input[consumed...]` to the next part and advances `consumed` past it.
    ///
    /// - Precondition: `consumed` is in `0...input.count`.
    package mutating func next(_ input: UnsafeRawBufferPointer, consumed: inout Int) throws(RequestError) -> Part {
        while true {
            switch self.state {
            case .start:
                // An empty line before a request is skipped (RFC 9112 §2.2), but not any number of them.
                while consumed < input.count, input[consumed] == Byte.cr || input[consumed] == Byte.lf {
                    consumed += 1
                    try self.count(1, atMost: self.limits.headBytes, orThrow: .headTooLarge)
                }
                guard consumed < input.count else { return .needMore }
                self.scanner = BlankLineScanner(atLineStart: false)
                self.blockBytes = 0
                self.state = .head
            case .head:
                guard let whole = try self.block(input, &consumed, self.limits.headBytes, .headTooLarge) else {
                    return .needMore
                }
                let limits = self.limits
                let head = try whole.parse { (bytes) throws(RequestError) in try RequestHeadParser.head(bytes, limits) }
                switch head.framing {
                case .none: self.state = .end
                case .length(let length): self.state = .length(remaining: length)
                case .chunked:
                    self.chunks = ChunkedDecoder(isStrict: true)
                    self.state = .chunked
                }
                return .head(head)
            case .length(let remaining):
                guard consumed < input.count else { return .needMore }
                let start = consumed
                let length = Int(min(Int64(input.count - start), remaining))
                consumed += length
                let left = remaining - Int64(length)
                self.state = left == 0 ? .end : .length(remaining: left)
                return .body(start..<consumed)
            case .chunked:
                guard let part = try self.chunk(input, &consumed) else { continue }
                return part
            case .trailers:
                guard let whole = try self.block(input, &consumed, self.limits.trailerBytes, .trailersTooLarge) else {
                    return .needMore
                }
                self.begin()
                let limits = self.limits
                return .end(
                    trailers: try whole.parse { (bytes) throws(RequestError) in
                        try RequestHeadParser.trailers(bytes, limits)
                    }
                )
            case .end:
                self.begin()
                return .end(trailers: HeaderFields())
            }
        }
    }

    private mutating func begin() {
        self.state = .start
        self.blockBytes = 0
    }

    private mutating func chunk(_ input: UnsafeRawBufferPointer, _ consumed: inout Int) throws(RequestError) -> Part? {
        let step: ChunkedDecoder.Step
        do { step = try self.chunks.next(input, consumed: &consumed) } catch { throw .invalidChunk }
        switch step {
        case .needMore: return .needMore
        case .data(let range): return .body(range)
        case .lastChunk:
            self.scanner = BlankLineScanner(atLineStart: true)
            self.blockBytes = 0
            self.state = .trailers
            return nil
        }
    }

    private mutating func count(_ bytes: Int, atMost limit: Int, orThrow error: RequestError) throws(RequestError) {
        self.blockBytes += bytes
        guard self.blockBytes <= limit else { throw error }
    }

    /// A block up to its blank line, or `nil` if the input ends before it.
    private mutating func block(
        _ input: UnsafeRawBufferPointer,
        _ consumed: inout Int,
        _ limit: Int,
        _ error: RequestError
    ) throws(RequestError) -> Block? {
        let start = consumed
        let end = self.scanner.scan(input, from: start)
        consumed = end ?? input.count
        try self.count(consumed - start, atMost: limit, orThrow: error)
        let piece = input.part(start..<consumed)
        guard end != nil else {
            self.pieces.append(contentsOf: piece)
            return nil
        }
        guard !self.pieces.isEmpty else { return .inPlace(piece) }
        self.pieces.append(contentsOf: piece)
        defer { self.pieces = [] }
        return .joined(self.pieces)
    }

    /// A complete block, which is not copied if it arrived in one piece.
    private enum Block {
        case inPlace(UnsafeRawBufferPointer)
        case joined([UInt8])

        func parse<Value>(
            _ body: (UnsafeRawBufferPointer) throws(RequestError) -> Value
        ) throws(RequestError) -> Value {
            switch self {
            case .inPlace(let bytes): return try body(bytes)
            case .joined(let bytes):
                return
                    try bytes.withUnsafeBytes { (bytes) -> Result<Value, RequestError> in
                        Result { () throws(RequestError) in try body(bytes) }
                    }
                    .get()
            }
        }
    }
}
