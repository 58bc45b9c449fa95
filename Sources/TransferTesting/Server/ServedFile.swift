/// One file as a server serves it: correctly by default, and with one fault or another where a test asks for it.
///
/// - Source: RFC 9110 §13 (conditional requests) and §14 (range requests).
public struct ServedFile: Sendable {
    /// The content.
    public var pattern: TestPattern
    /// The length in bytes.
    public var length: Int64
    /// `ETag`, with its quotes, or `nil` for none.
    public var entityTag: String?
    /// `Last-Modified`, or `nil` for none.
    public var lastModified: String? = "Tue, 01 Jul 2025 10:00:00 GMT"
    /// `Date`, or `nil` for none.
    public var date: String? = "Sat, 21 Nov 2026 12:00:00 GMT"
    /// More fields for every answer that carries the file: `Content-Disposition`, `Repr-Digest`.
    public var fields: [(String, String)] = []

    /// Whether ranges are answered; otherwise always 200 with everything.
    public var supportsRanges = true
    /// How the end of a whole response is told.
    public var framing = Framing.length
    /// What is wrong with 206 answers.
    public var rangeFault: RangeFault?
    /// How the file changes from request to request.
    public var change: Change?
    /// How each body ends before its time.
    public var interruption: Interruption?
    /// How many responses are interrupted; the later ones are whole.
    public var interruptedResponses = Int.max
    /// The most bytes a second on each connection.
    public var rate: Int64?
    /// Bytes sent beyond the declared length, with every response.
    public var excess = 0
    /// A status that the first requests get instead of the file.
    public var refusal: Refusal?

    /// Creates a file that is served correctly.
    public init(_ pattern: TestPattern = TestPattern(), length: Int64, entityTag: String? = "\"v1\"") {
        self.pattern = pattern
        self.length = length
        self.entityTag = entityTag
    }

    /// How the end of a response's body is told.
    public enum Framing: Sendable {
        /// `Content-Length`.
        case length
        /// Chunked, so that no length is declared.
        case chunked
        /// No length; the connection's end is the body's (HTTP/1.0).
        case close
    }

    /// A fault in an answer to a range request.
    public enum RangeFault: Sendable {
        /// `Content-Range`, and the body, begin this many bytes later than asked.
        case wrongStart(Int64)
        /// No `Content-Range` at all.
        case missingContentRange
        /// A `Content-Range` with this value.
        case contentRange(String)
        /// The total is `*`.
        case unknownTotal
        /// One part in a `multipart/byteranges` body.
        case multipart
        /// A `Content-Encoding` with this value.
        case contentEncoding(String)
        /// 412 to every range request.
        case preconditionFailed
        /// 416 to every range request, with this total.
        case unsatisfiable(total: Int64)
        /// A 206 to requests that asked for no range, too.
        case uninvited
        /// `If-Range` is ignored: a range is answered whatever the validator says.
        case ignoresIfRange
    }

    /// A change of the file between requests.
    public enum Change: Sendable {
        /// Another ETag with every request, the same content.
        case entityTagEachTime
        /// From this request for the target on (counted from 0): this content, length and ETag.
        case after(Int, TestPattern, length: Int64, entityTag: String?)
    }

    /// An early end of a response's body.
    public enum Interruption: Sendable {
        /// FIN after this many bytes of each body.
        case closeAfter(Int64)
        /// RST after this many bytes of each body.
        case resetAfter(Int64)
        /// FIN wherever a body would pass this offset of the file.
        case closeAt(Int64)
        /// Nothing more after this many bytes of each body, the connection left open.
        case stallAfter(Int64)
    }

    /// An answer that first requests get instead of the file.
    public struct Refusal: Sendable {
        /// The status.
        public var status: Int
        /// How many requests for the target get it.
        public var count: Int
        /// `Retry-After`, or `nil` for none.
        public var retryAfter: String?

        /// Creates a refusal.
        public init(status: Int, count: Int, retryAfter: String? = nil) {
            self.status = status
            self.count = count
            self.retryAfter = retryAfter
        }
    }
}
