// SPDX-License-Identifier: Apache-2.0
/// Parses consecutive HTTP/1 responses in place.
///
/// Pure value: it performs no I/O and stores no input except a head or trailers that arrived in pieces. No input of a
/// peer can make it trap. It must not be used after an error.
///
/// - Source: RFC 9112.
package struct ResponseParser: Sendable {
    /// The result of a call of ``next(_:consumed:)``.
    package enum Part: Sendable {
        /// All input was consumed (or the response has ended): continue with more.
        case needMore
        case interim(status: Int, HeaderFields)
        /// The final response's head.
        case head(ResponseHead)
        /// Bytes of the body: a range of the input.
        case body(Range<Int>)
        /// The response is complete; remaining bytes do not belong to it.
        case end(trailers: HeaderFields)
    }

    /// The effect of the end of the connection on the response.
    package enum Completion: Sendable {
        /// No byte of a response had arrived.
        case nothingBegun
        /// The end of the connection ends the body: the response is complete as far as is known.
        case ended
        /// The response is incomplete.
        case truncated
        /// The response had already ended, as its framing shows.
        case alreadyEnded
    }

    /// The limits on everything that a server may send except the body.
    package struct Limits: Sendable {
        /// The maximum size of all heads of one response, including interim ones, in bytes.
        package var headBytes: Int = 256 * 1024
        /// The maximum number of interim responses.
        package var interimResponses: Int = 64
        /// The maximum size of trailer fields in bytes.
        package var trailerBytes: Int = 64 * 1024

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
        case untilClose
        /// The end is to be reported.
        case end
        case finished
    }

    private let limits: Limits
    private var state = State.start
    private var isHeadRequest: Bool
    // Bounds: `consumed` is in `0...input.count`, as the precondition of `next` says, and is advanced past bytes that exist: by
    // one after a comparison with the count, by the scanner, by the decoder, or by at most what remains.
    private var scanner = BlankLineScanner(atLineStart: false)
    private var chunks = ChunkedDecoder()
    /// The pieces of a head, or of trailers, that is incomplete.
    private var pieces: [UInt8] = []
    private var blockBytes = 0
    private var interimCount = 0

    /// Whether the connection may carry another request after this response (RFC 9112 §9.3).
    ///
    /// Known once the head is parsed; the caller must check for bytes after the response.
    package private(set) var shouldKeepAlive = false

    /// Whether any byte of the response has arrived.
    package private(set) var hasBegun = false

    /// Whether the final head has arrived.
    package private(set) var hasHead = false

    /// Creates a parser for the response to a request; the response to a HEAD request has no body.
    package init(isHeadRequest: Bool, limits: Limits = Limits()) {
        self.isHeadRequest = isHeadRequest
        self.limits = limits
    }

    /// Prepares for the next response of the same connection.
    package mutating func reset(isHeadRequest: Bool) {
        self.isHeadRequest = isHeadRequest
        self.state = .start
        self.shouldKeepAlive = false
        self.hasBegun = false
        self.hasHead = false
        self.blockBytes = 0
        self.interimCount = 0
    }

    /// Whether the next part is the end, without more input.
    package var isAtEnd: Bool {
        switch self.state {
        case .end, .finished: true
        default: false
        }
    }

    /// Parses from `input[consumed...]` to the next part and advances `consumed` past it.
    ///
    /// - Precondition: `consumed` is in `0...input.count`.
    package mutating func next(
        _ input: UnsafeRawBufferPointer,
        consumed: inout Int
    ) throws(HTTP1Error) -> Part {
        while true {
            switch self.state {
            case .start:
                // An empty line before a head is left over from the previous message; it is skipped (RFC 9112 §2.2).
                let start = consumed
                while consumed < input.count, input[consumed] == Byte.cr || input[consumed] == Byte.lf { consumed += 1 }
                try self.countBlockBytes(consumed - start)
                guard consumed < input.count else { return .needMore }
                self.hasBegun = true
                self.scanner = BlankLineScanner(atLineStart: false)
                self.state = .head
            case .head:
                guard let head = try self.headParsed(input, &consumed) else { return .needMore }
                guard let final = try self.headReceived(head) else {
                    return .interim(status: head.status, head.fields)
                }
                return .head(final)
            case .length(let remaining):
                guard consumed < input.count else { return .needMore }
                let start = consumed
                let length = Int(min(Int64(input.count - start), remaining))
                consumed += length
                let left = remaining - Int64(length)
                self.state = left == 0 ? .end : .length(remaining: left)
                return .body(start..<consumed)
            case .chunked:
                switch try self.chunks.next(input, consumed: &consumed) {
                case .needMore: return .needMore
                case .data(let range): return .body(range)
                case .lastChunk:
                    self.scanner = BlankLineScanner(atLineStart: true)
                    self.blockBytes = 0
                    self.state = .trailers
                }
            case .trailers:
                guard let trailers = try self.trailersParsed(input, &consumed) else { return .needMore }
                self.state = .finished
                return .end(trailers: trailers)
            case .untilClose:
                guard consumed < input.count else { return .needMore }
                let start = consumed
                consumed = input.count
                return .body(start..<consumed)
            case .end:
                self.state = .finished
                return .end(trailers: HeaderFields())
            case .finished:
                return .needMore
            }
        }
    }

    /// Returns the effect of the end of the connection at this point.
    package mutating func finish() -> Completion {
        switch self.state {
        case .start:
            return self.interimCount > 0 || self.hasBegun ? .truncated : .nothingBegun
        case .head, .length, .chunked, .trailers:
            return .truncated
        case .untilClose:
            self.state = .finished
            return .ended
        case .end, .finished:
            self.state = .finished
            return .alreadyEnded
        }
    }

    private static func head(_ bytes: UnsafeRawBufferPointer) throws(HTTP1Error) -> HeadParser.Head {
        if bytes.first == 0 { try self.checkFrame(bytes).get() }
        return try HeadParser.head(bytes)
    }

    /// Fails if bytes start like the first frame of an HTTP/2 server: SETTINGS or GOAWAY, of the connection.
    ///
    /// - Source: RFC 9113 §3.4, §4.1, §6.5, §6.8.
    private static func checkFrame(_ bytes: UnsafeRawBufferPointer) -> Result<Void, HTTP1Error> {
        guard bytes.count >= 9, bytes[0] == 0, bytes[3] == 0x04 || bytes[3] == 0x07 else { return .success(()) }
        // A length of at most 2^14, which every peer accepts; stream 0.
        let isFrame = bytes[1] <= 0x40 && bytes.part(5..<9).allSatisfy { $0 == 0 }
        return isFrame ? .failure(.onlyHTTP2) : .success(())
    }

    private mutating func countBlockBytes(_ count: Int) throws(HTTP1Error) {
        self.blockBytes += count
        guard self.blockBytes <= self.limits.headBytes else { throw .headTooLarge }
    }

    private mutating func headParsed(
        _ input: UnsafeRawBufferPointer,
        _ consumed: inout Int
    ) throws(HTTP1Error) -> HeadParser.Head? {
        let start = consumed
        let end = self.scanner.scan(input, from: start)
        consumed = end ?? input.count
        try self.countBlockBytes(consumed - start)
        let piece = input.part(start..<consumed)
        guard end != nil else {
            self.pieces.append(contentsOf: piece)
            // A frame of HTTP/2 may have no end of a line to wait for.
            if self.pieces.first == 0 { try self.pieces.withUnsafeBytes(Self.checkFrame).get() }
            return nil
        }
        if self.pieces.isEmpty { return try Self.head(piece) }
        return try self.joined(with: piece) { (whole) throws(HTTP1Error) in try Self.head(whole) }
    }

    private mutating func trailersParsed(
        _ input: UnsafeRawBufferPointer,
        _ consumed: inout Int
    ) throws(HTTP1Error) -> HeaderFields? {
        let start = consumed
        let end = self.scanner.scan(input, from: start)
        consumed = end ?? input.count
        self.blockBytes += consumed - start
        guard self.blockBytes <= self.limits.trailerBytes else { throw .trailersTooLarge }
        let piece = input.part(start..<consumed)
        guard end != nil else {
            self.pieces.append(contentsOf: piece)
            return nil
        }
        if self.pieces.isEmpty { return try HeadParser.trailers(piece) }
        return try self.joined(with: piece) { (whole) throws(HTTP1Error) in try HeadParser.trailers(whole) }
    }

    /// Parses the stored pieces together with the last one, and releases them.
    private mutating func joined<Value>(
        with piece: UnsafeRawBufferPointer,
        _ parse: (UnsafeRawBufferPointer) throws(HTTP1Error) -> Value
    ) throws(HTTP1Error) -> Value {
        self.pieces.append(contentsOf: piece)
        let whole = self.pieces
        self.pieces = []
        return
            try whole.withUnsafeBytes { (bytes) -> Result<Value, HTTP1Error> in
                Result { () throws(HTTP1Error) in try parse(bytes) }
            }
            .get()
    }

    /// Determines the state after a head; returns `nil` for an interim one.
    private mutating func headReceived(_ head: HeadParser.Head) throws(HTTP1Error) -> ResponseHead? {
        if head.status < 200 {
            guard head.status != 101 else { throw .unexpectedUpgrade }
            self.interimCount += 1
            guard self.interimCount <= self.limits.interimResponses else { throw .tooManyInterimResponses }
            self.state = .start
            return nil
        }
        let framing = try self.framing(head)
        switch framing {
        case .none:
            self.state = .end
        case .length(let length):
            self.state = length == 0 ? .end : .length(remaining: length)
        case .chunked:
            self.chunks = ChunkedDecoder()
            self.state = .chunked
        case .untilClose:
            self.state = .untilClose
        }
        self.hasHead = true
        self.shouldKeepAlive = self.keepsAlive(head, framing)
        return ResponseHead(
            status: head.status,
            reason: head.reason,
            fields: head.fields,
            framing: framing,
            minorVersion: head.minorVersion
        )
    }

    /// Determines the body's framing in the order of RFC 9112 §6.3; a 205 has no content either (RFC 9110 §15.3.6).
    private func framing(_ head: HeadParser.Head) throws(HTTP1Error) -> BodyFraming {
        if self.isHeadRequest || head.status == 204 || head.status == 205 || head.status == 304 { return .none }
        if head.facts.hasTransferEncoding {
            if head.facts.isChunked { return .chunked }
            guard head.facts.isIdentity else { throw .unsupportedTransferCoding }
            return .untilClose
        }
        return head.facts.contentLength.map { .length($0) } ?? .untilClose
    }

    private func keepsAlive(_ head: HeadParser.Head, _ framing: BodyFraming) -> Bool {
        let facts = head.facts
        if framing == .untilClose || facts.saysClose { return false }
        if head.minorVersion == 0 && (!facts.saysKeepAlive || facts.hasTransferEncoding) { return false }
        // Both lengths together indicate smuggling (RFC 9112 §6.3): the connection is no longer trusted.
        if facts.hasTransferEncoding && facts.contentLength != nil { return false }
        // A 205 or 204 may be sent with invalid content, which would be parsed as the next response.
        if !self.isHeadRequest && (head.status == 204 || head.status == 205) {
            return !facts.hasTransferEncoding && (facts.contentLength ?? 0) == 0
        }
        return true
    }
}
