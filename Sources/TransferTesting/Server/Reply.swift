// SPDX-License-Identifier: Apache-2.0
/// The response of a ``ScriptedServer`` to one request: a sequence of steps.
///
/// After the last step the connection waits for the next request, unless a step closed it.
public struct Reply: Sendable {
    /// One step of a reply.
    public enum Step: Sendable {
        /// Sends bytes that do not count as body, such as a head or chunk framing.
        case head([UInt8])
        /// Sends bytes that count as body.
        case bytes([UInt8])
        /// Sends a range of a pattern, streamed with backpressure; at most `rate` bytes per second if given,
        /// each block as a chunk if `chunked`.
        case pattern(TestPattern, Range<Int64>, rate: Int64? = nil, chunked: Bool = false)
        /// Sends bytes repeatedly until the peer closes the connection.
        case endless([UInt8])
        /// Waits.
        case delay(Duration)
        /// Sends bytes one by one, waiting before each; they do not count as body.
        case drip([UInt8], every: Duration)
        /// Waits until a gate is opened.
        case waitUntil(Gate)
        /// Opens a gate.
        case open(Gate)
        /// Sends nothing more until the peer closes the connection.
        case stall
        /// Ends the connection with FIN when all bytes were sent; over TLS, after a close_notify.
        case close
        /// Ends the connection with FIN when all bytes were sent; over TLS, without a close_notify.
        case cut
        /// Like `close`, but over TLS without waiting for the peer's close_notify.
        case closeAtOnce
        /// Ends the connection with RST when all bytes were passed to the kernel; some may never arrive.
        case reset
    }

    /// The steps, in order.
    public var steps: [Step]

    /// Creates a reply from its steps.
    public init(_ steps: [Step]) {
        self.steps = steps
    }

    /// Sends a text unchanged, usually a whole response with its CR LF.
    public static func raw(_ text: String) -> Reply {
        Reply([.head(Array(text.utf8))])
    }

    /// A whole response; `Content-Length` is added unless that field or `Transfer-Encoding` is given.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - fields: The header fields.
    ///   - body: The body.
    /// - Returns: The reply.
    public static func response(_ status: Int, _ fields: [(String, String)] = [], body: [UInt8] = []) -> Reply {
        var fields = fields
        let names = fields.map { $0.0.lowercased() }
        if status >= 200, status != 204, status != 304,
            !names.contains("content-length"), !names.contains("transfer-encoding")
        {
            fields.append(("Content-Length", String(body.count)))
        }
        var steps = [Step.head(Self.headBytes(status, fields))]
        if !body.isEmpty { steps.append(.bytes(body)) }
        return Reply(steps)
    }

    /// A whole response with a text as its body.
    public static func response(_ status: Int, _ fields: [(String, String)] = [], text: String) -> Reply {
        self.response(status, fields, body: Array(text.utf8))
    }

    /// A redirect.
    public static func redirect(to location: String, status: Int = 302) -> Reply {
        self.response(status, [("Location", location)])
    }

    /// The bytes of a response's head, including its empty line.
    public static func headBytes(_ status: Int, _ fields: [(String, String)], version: String = "HTTP/1.1") -> [UInt8] {
        var text = "\(version) \(status) \(Self.reason(status))\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    /// Returns the reply with more steps at its end.
    public func then(_ steps: Step...) -> Reply {
        Reply(self.steps + steps)
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 103: "Early Hints"
        case 200: "OK"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 404: "Not Found"
        case 412: "Precondition Failed"
        case 416: "Range Not Satisfiable"
        case 429: "Too Many Requests"
        case 503: "Service Unavailable"
        default: "Status"
        }
    }
}
