internal import FileStorage
internal import TransferCore

/// A response before it is sent.
///
/// The connection adds `Date`, `Content-Length` and `Connection`, and omits the content if the method is HEAD.
struct Answer: Sendable {
    /// The status code.
    var status: Int
    /// The header fields, except those that the connection adds.
    var fields: HeaderFields
    /// The content.
    var content: Content
    /// Whether the connection must close after the response.
    var closes = false
    /// Counts the bytes of the content, or `nil`.
    var meter: (any AnswerMeter)?

    /// The content of a response.
    enum Content: Sendable {
        /// No content; `Content-Length: 0` is sent if the status allows it.
        case none
        /// These bytes.
        case bytes([UInt8])
        /// A half-open range of a file.
        case file(OpenFile, Range<Int64>)
        /// Content whose length is not known in advance.
        case stream(any ContentSource)

        /// The length in bytes; 0 for a stream.
        var length: Int64 {
            switch self {
            case .none, .stream: 0
            case .bytes(let bytes): Int64(bytes.count)
            case .file(_, let range): range.upperBound - range.lowerBound
            }
        }

        /// The length in bytes if the content is that of a file; otherwise 0.
        var fileLength: Int64 { if case .file = self { self.length } else { 0 } }
    }

    init(_ status: Int, _ fields: HeaderFields = [:], _ content: Content = .none) {
        self.status = status
        self.fields = fields
        self.content = content
    }

    /// Creates a response with a line of text for a person.
    static func message(_ status: Int, _ text: String, _ fields: HeaderFields = [:]) -> Answer {
        var fields = fields
        fields.append("Content-Type", "text/plain; charset=utf-8")
        fields.append("X-Content-Type-Options", "nosniff")
        return Answer(status, fields, .bytes(Array((text + "\n").utf8)))
    }

    /// Returns the response with an additional header field.
    func adding(_ name: String, _ value: String) -> Answer {
        var answer = self
        answer.fields.append(name, value)
        return answer
    }
}

/// Produces content piece by piece.
protocol ContentSource: AnyObject, Sendable {
    /// The next piece; empty at the end.
    ///
    /// Called on a thread that may block, never concurrently.
    func next() -> [UInt8]
}

/// Counts the content bytes of one response.
///
/// With a meter, the response ends when the client's kernel has acknowledged all of it.
protocol AnswerMeter: Sendable {
    /// Counts bytes that are about to be sent; if it returns false, the connection closes instead.
    func take(_ count: Int64) -> Bool
    /// The response has ended; called once.
    ///
    /// - Parameter arrived: The number of content bytes that the client's kernel acknowledged.
    func ended(arrived: Int64)
}

extension Answer {
    /// Creates the response for a file that cannot be served.
    static func failure(_ error: TreeError) -> Answer {
        switch error {
        case .notFound: .message(404, "there is nothing here")
        case .forbidden: .message(403, "this cannot be read")
        case .busy: .message(503, "too many files are open; try again", ["Retry-After": "5"])
        case .failed: .message(500, "reading failed")
        }
    }
}
