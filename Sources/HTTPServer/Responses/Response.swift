// SPDX-License-Identifier: Apache-2.0
package import Files
package import NIOPosix
package import TransferCore

/// A response before it is sent.
///
/// The connection adds `Date`, `Content-Length` and `Connection`, and omits the content if the method is HEAD.
package struct Response: Sendable {
    /// The status code.
    package var status: Int
    /// The header fields, except those that the connection adds.
    package var fields: HeaderFields
    package var content: Content
    /// Whether the connection must close after the response.
    package var closes = false
    /// Counts the bytes of the content, or `nil`.
    package var meter: (any ResponseMeter)?
    /// The time for which a route's response is withheld; the request's content is released before.
    package var delay = Duration.zero

    package enum Content: Sendable {
        /// No content; `Content-Length: 0` is sent if the status allows it.
        case none
        /// These bytes.
        case bytes([UInt8])
        /// A half-open range of a file, sent by sendfile(2) if it is large and the connection is not encrypted.
        case file(Files.FileDescriptor, Range<Int64>)
        /// Content, usually of unknown length, that the connection pulls when it can take more.
        case stream(any ContentSource)
        /// Content of unknown length that a task writes.
        case writer(ContentWriter.Body)
        /// No content: the connection becomes a WebSocket.
        case webSocket(WebSocketUpgrade)

        /// The length in bytes; 0 if it is unknown.
        package var length: Int64 {
            switch self {
            case .none, .writer, .webSocket: 0
            case .stream(let source): source.length ?? 0
            case .bytes(let bytes): Int64(bytes.count)
            case .file(_, let range): range.upperBound - range.lowerBound
            }
        }

        /// The length in bytes if the content is that of a file; otherwise 0.
        package var fileLength: Int64 { if case .file = self { self.length } else { 0 } }

        /// Whether the length is unknown, so that HTTP/1.0 ends the content by closing the connection.
        var isUnbounded: Bool {
            switch self {
            case .stream(let source): source.length == nil
            case .writer: true
            case .none, .bytes, .file, .webSocket: false
            }
        }
    }

    package init(_ status: Int, _ fields: HeaderFields = [:], _ content: Content = .none) {
        self.status = status
        self.fields = fields
        self.content = content
    }

    /// Creates a response with a line of text for a person.
    package static func message(_ status: Int, _ text: String, _ fields: HeaderFields = [:]) -> Response {
        var fields = fields
        fields.append("Content-Type", "text/plain; charset=utf-8")
        fields.append("X-Content-Type-Options", "nosniff")
        return Response(status, fields, .bytes(Array((text + "\n").utf8)))
    }

    /// Creates a response with a page of HTML.
    ///
    /// The page cannot be embedded by pages of other origins; scripts need a `Content-Security-Policy` in `fields`.
    package static func page(_ html: String, _ fields: HeaderFields = [:]) -> Response {
        var fields = fields
        fields.append("Content-Type", "text/html; charset=utf-8")
        fields.append("X-Content-Type-Options", "nosniff")
        if !fields.contains("Content-Security-Policy") {
            fields.append(
                "Content-Security-Policy",
                "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
            )
        }
        return Response(200, fields, .bytes(Array(html.utf8)))
    }

    /// Creates a stream of server-sent events, which ends when `body` returns, the client disconnects, or the server
    /// stops.
    ///
    /// - Parameters:
    ///   - interval: The interval of comments: proxies close silent connections, and only a write detects a vanished
    ///     client.
    ///   - body: Writes the events, each with the blank line after it.
    /// - Returns: The response.
    /// - Source: the HTML standard, §9.2.
    package static func events(
        commentsEvery interval: Duration,
        _ body: @escaping @Sendable (ContentWriter) async -> Void
    ) -> Response {
        var response = Response(
            200,
            ["Content-Type": "text/event-stream", "Cache-Control": "no-cache"],
            .writer(ContentWriter.Body(heartbeat: Array(":\n\n".utf8), interval: interval, body))
        )
        response.closes = true
        return response
    }

    /// Returns the response with an additional header field.
    package func adding(_ name: String, _ value: String) -> Response {
        var response = self
        response.fields.append(name, value)
        return response
    }

    /// Returns the response, which is withheld for a time.
    package func delayed(by delay: Duration) -> Response {
        var response = self
        response.delay = delay
        return response
    }

    /// Returns the response, after which the connection closes.
    package func closing() -> Response {
        var response = self
        response.closes = true
        return response
    }
}

/// Produces content piece by piece.
package protocol ContentSource: AnyObject, Sendable {
    /// The threads on which ``next()`` is called; `nil` for those of the listener.
    var pool: NIOThreadPool? { get }

    /// The length of all pieces in bytes, or `nil` if it is unknown; a constant.
    var length: Int64? { get }

    /// The next piece; empty at the end.
    ///
    /// Called on a thread that may block, never concurrently.
    func next() -> [UInt8]

    /// Whether the content ended before it was complete, so that the connection must be closed instead of ending the
    /// response.
    var isBroken: Bool { get }
}

extension ContentSource {
    /// Unknown.
    package var length: Int64? { nil }
    /// Never.
    package var isBroken: Bool { false }
}

/// Counts the content bytes of one response.
///
/// With a meter, the response ends when the client's kernel has acknowledged all of it.
package protocol ResponseMeter: AnyObject, Sendable {
    /// Counts bytes that are about to be sent; if it returns false, the connection closes instead.
    ///
    /// Called on a thread that may block, except for content of at most 64 KiB, which is sent with the head.
    func take(_ count: Int64) -> Bool
    /// The response has ended; called once.
    ///
    /// - Parameter arrived: The number of content bytes that the client's kernel acknowledged.
    func ended(arrived: Int64)
}
