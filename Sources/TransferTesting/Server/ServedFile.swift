// SPDX-License-Identifier: Apache-2.0
/// A file on a server: served correctly by default, or with a fault that a test configures.
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
    /// Additional fields of every response with content: `Content-Disposition`, `Repr-Digest`.
    public var fields: [(String, String)] = []

    /// Whether range requests are supported; otherwise the response is always 200 with the whole file.
    public var supportsRanges = true
    /// The framing of a whole response.
    public var framing = Framing.length
    /// The fault in 206 responses.
    public var rangeFault: RangeFault?
    /// The change of the file between requests.
    public var change: Change?
    /// The early end of each body.
    public var interruption: Interruption?
    /// The number of interrupted responses; later ones are complete.
    public var interruptedResponses = Int.max
    /// The maximum rate of each connection, in bytes per second.
    public var rate: Int64?
    /// The number of bytes sent beyond the declared length in every response.
    public var excess = 0
    /// A refusal of the first requests.
    public var refusal: Refusal?

    /// Creates a file that is served correctly.
    public init(_ pattern: TestPattern = TestPattern(), length: Int64, entityTag: String? = "\"v1\"") {
        self.pattern = pattern
        self.length = length
        self.entityTag = entityTag
    }

    /// The framing of a response's body.
    public enum Framing: Sendable {
        /// `Content-Length`.
        case length
        /// Chunked, without a declared length.
        case chunked
        /// No length: the end of the connection delimits the body (HTTP/1.0).
        case close
    }

    /// A fault in the response to a range request.
    public enum RangeFault: Sendable {
        /// `Content-Range` and the body begin this many bytes after the requested offset.
        case wrongStart(Int64)
        /// No `Content-Range`.
        case missingContentRange
        /// A `Content-Range` with this value.
        case contentRange(String)
        case unknownTotal
        /// One part in a `multipart/byteranges` body.
        case multipart
        /// A `Content-Encoding` with this value.
        case contentEncoding(String)
        /// 412 for every range request.
        case preconditionFailed
        /// 416 for every range request, with this total.
        case unsatisfiable(total: Int64)
        /// 206 also for requests without a range.
        case uninvited
        /// `If-Range` is ignored: the response is partial whatever the validator.
        case ignoresIfRange
    }

    /// A change of the file between requests.
    public enum Change: Sendable {
        /// A different ETag for every request, with the same content.
        case entityTagEachTime
        /// This content, length and ETag from this request for the target on, counted from 0.
        case after(Int, TestPattern, length: Int64, entityTag: String?)
    }

    /// An early end of a response's body.
    public enum Interruption: Sendable {
        /// FIN after this many bytes of each body.
        case closeAfter(Int64)
        /// RST after this many bytes of each body.
        case resetAfter(Int64)
        /// FIN when a body reaches this offset of the file.
        case closeAt(Int64)
        /// No more bytes after this many of each body, with the connection left open.
        case stallAfter(Int64)
    }

    /// A response to the first requests in place of the file.
    public struct Refusal: Sendable {
        /// The status.
        public var status: Int
        /// The number of requests for the target that are refused.
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
