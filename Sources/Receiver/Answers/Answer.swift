internal import FileStorage
internal import TransferCore

/// A response before it is sent.
///
/// The connection adds `Date`, `Content-Length` and `Connection`, and leaves the content out where the request was HEAD.
struct Answer: Sendable {
    /// The status code.
    var status: Int
    /// The fields but those that the connection adds.
    var fields: HTTPFields
    /// The content.
    var content: Content
    /// Whether the connection must end with it.
    var closes = false
    /// Told whether all of it was sent, where somebody counts.
    var whenSent: (@Sendable (Bool) -> Void)?
    /// Whether it is sent only when the client's kernel has acknowledged all of it.
    var mustArrive = false

    /// What the content is.
    enum Content: Sendable {
        /// There is none; `Content-Length: 0` is said where the status allows one.
        case none
        /// These bytes.
        case bytes([UInt8])
        /// Part of a file, half-open.
        case file(OpenFile, Range<Int64>)

        /// How many bytes it has.
        var length: Int64 {
            switch self {
            case .none: 0
            case .bytes(let bytes): Int64(bytes.count)
            case .file(_, let range): range.upperBound - range.lowerBound
            }
        }
    }

    init(_ status: Int, _ fields: HTTPFields = [:], _ content: Content = .none) {
        self.status = status
        self.fields = fields
        self.content = content
    }

    /// An answer with a line of text for a person.
    static func message(_ status: Int, _ text: String, _ fields: HTTPFields = [:]) -> Answer {
        var fields = fields
        fields.append("Content-Type", "text/plain; charset=utf-8")
        fields.append("X-Content-Type-Options", "nosniff")
        return Answer(status, fields, .bytes(Array((text + "\n").utf8)))
    }

    /// The same answer with a further field.
    func adding(_ name: String, _ value: String) -> Answer {
        var answer = self
        answer.fields.append(name, value)
        return answer
    }
}

extension Answer {
    /// The answer for what is not served.
    static func failure(_ error: TreeError) -> Answer {
        switch error {
        case .notFound: .message(404, "there is nothing here")
        case .forbidden: .message(403, "this cannot be read")
        case .busy: .message(503, "too many files are open; try again", ["Retry-After": "5"])
        case .failed: .message(500, "reading failed")
        }
    }
}
