/// Parses one HTTP/1 response after another, in place.
///
/// Pure value: it performs no I/O and keeps no input but a head or trailers that came in pieces. Nothing that a peer
/// sends makes it trap. After an error it must not be fed again.
///
/// - Source: RFC 9112.
package struct ResponseParser: Sendable {
    /// What a call to ``next(_:consumed:)`` found.
    package enum Part: Sendable {
        /// All input was consumed (or the response has ended): go on with more.
        case needMore
        /// An interim response.
        case interim(status: Int, HeaderFields)
        /// The final response's head.
        case head(ResponseHead)
        /// Bytes of the body: a range of the input.
        case body(Range<Int>)
        /// The response is complete; bytes that remain do not belong to it.
        case end(trailers: HeaderFields)
    }

    /// What the end of the connection means for the response.
    package enum Completion: Sendable {
        /// No byte of a response had come.
        case nothingBegun
        /// The body was one that the connection's end ends: the response is complete as far as can be known.
        case ended
        /// The response is incomplete.
        case truncated
        /// The response had ended before, as its framing shows.
        case alreadyEnded
    }

    /// The bounds on what a server may send beside the body.
    package struct Limits: Sendable {
        /// The most bytes of all heads of one response, interim ones included.
        package var headBytes: Int = 256 * 1024
        /// The most interim responses.
        package var interimResponses: Int = 64
        /// The most bytes of trailer fields.
        package var trailerBytes: Int = 64 * 1024

        /// Creates the usual limits.
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
        /// The end is to be told.
        case end
        case finished
    }

    private let limits: Limits
    private var state = State.start
    private var isHeadRequest: Bool
    private var scanner = BlankLineScanner(atLineStart: false)
    private var chunks = ChunkedDecoder()
    /// The pieces of a head, or of trailers, that is not complete.
    private var pieces: [UInt8] = []
    private var blockBytes = 0
    private var interimCount = 0

    /// Whether the connection may carry another request after this response (RFC 9112 §9.3).
    ///
    /// Known when the head is; what came behind the response is for the caller to look at.
    package private(set) var shouldKeepAlive = false

    /// Whether any byte of the response has come.
    package private(set) var hasBegun = false

    /// Whether the final head has come.
    package private(set) var hasHead = false

    /// Creates a parser for the response to a request; to one whose method is HEAD the response has no body.
    package init(isHeadRequest: Bool, limits: Limits = Limits()) {
        self.isHeadRequest = isHeadRequest
        self.limits = limits
    }

    /// Makes ready for the next response of the same connection.
    package mutating func reset(isHeadRequest: Bool) {
        self.isHeadRequest = isHeadRequest
        self.state = .start
        self.shouldKeepAlive = false
        self.hasBegun = false
        self.hasHead = false
        self.blockBytes = 0
        self.interimCount = 0
    }

    /// Whether the next part is the end, without any more input.
    package var isAtEnd: Bool {
        switch self.state {
        case .end, .finished: true
        default: false
        }
    }

    /// Parses on from `input[consumed...]` to the next part and moves `consumed` behind it.
    ///
    /// - Precondition: `consumed` lies in `0...input.count`.
    package mutating func next(
        _ input: UnsafeRawBufferPointer,
        consumed: inout Int
    ) throws(HTTP1Error) -> Part {
        while true {
            switch self.state {
            case .start:
                // An empty line before a head is left over from what came before; it is skipped (RFC 9112 §2.2).
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

    /// Tells what the connection's end means at this place.
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
            return nil
        }
        if self.pieces.isEmpty { return try HeadParser.head(piece) }
        return try self.joined(with: piece) { (whole) throws(HTTP1Error) in try HeadParser.head(whole) }
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

    /// Parses the pieces kept so far together with the last one, and lets go of them.
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

    /// Decides what follows a head; returns `nil` for an interim one.
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

    /// Finds the body's framing in the order of RFC 9112 §6.3; a 205 has no content either (RFC 9110 §15.3.6).
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
        // Both lengths at once are a sign of smuggling (RFC 9112 §6.3): the connection is not trusted further.
        if facts.hasTransferEncoding && facts.contentLength != nil { return false }
        // A 205 or 204 may come with the content it must not have; it would be taken for the next response.
        if !self.isHeadRequest && (head.status == 204 || head.status == 205) {
            return !facts.hasTransferEncoding && (facts.contentLength ?? 0) == 0
        }
        return true
    }
}
