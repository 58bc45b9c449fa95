// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// The reaction of a script of ``ScriptedResponses`` to one request.
public struct ScriptedResponse: Sendable {
    enum Kind: Sendable {
        case response
        /// A failure before any response.
        case failure(ScriptedFailure)
        /// No response, until the session's timeout or a cancellation.
        case silence
    }

    /// The status of the response.
    public var status = 200
    /// The header fields of the response; `Content-Length` is added unless that field or `Transfer-Encoding` is given.
    public var fields = HeaderFields()
    /// The body; not sent in response to `HEAD`, or with a status that has no body.
    public var body: [UInt8] = []

    private(set) var kind = Kind.response
    private(set) var delay = Duration.zero
    private(set) var pieceSize = 64 << 10
    private(set) var interval = Duration.zero
    private(set) var end: (offset: Int, failure: ScriptedFailure)?

    private init(_ kind: Kind) {
        self.kind = kind
    }

    /// A response.
    ///
    /// A `Content-Length` in `fields` that is larger than the body ends the connection early; one that is smaller cuts
    /// the body off.
    ///
    /// - Parameters:
    ///   - status: The status, 200 to 999.
    ///   - fields: The header fields.
    ///   - body: The body.
    /// - Returns: The response.
    public static func response(_ status: Int, _ fields: HeaderFields = [:], body: [UInt8] = []) -> ScriptedResponse {
        var response = ScriptedResponse(.response)
        response.status = status
        response.fields = fields
        response.body = body
        return response
    }

    /// A response with a text as its body.
    public static func response(_ status: Int, _ fields: HeaderFields = [:], text: String) -> ScriptedResponse {
        self.response(status, fields, body: Array(text.utf8))
    }

    /// A redirect.
    public static func redirect(to location: String, status: Int = 302) -> ScriptedResponse {
        self.response(status, ["Location": location])
    }

    /// The response of a server that supports range requests: the whole file, or the requested part of it.
    ///
    /// - Parameters:
    ///   - bytes: The file.
    ///   - entityTag: `ETag`, with its quotes, with which interrupted downloads of the file are resumed.
    ///   - request: The request.
    /// - Returns: The response: 200, 206 or 416.
    public static func file(
        _ bytes: [UInt8],
        entityTag: String = "\"1\"",
        for request: ScriptedRequest
    ) -> ScriptedResponse {
        let fields: HeaderFields = ["ETag": entityTag, "Accept-Ranges": "bytes"]
        let isCurrent = request["If-Range"].map { $0 == entityTag } ?? true
        guard let value = request["Range"], isCurrent,
            let range = ServedFile.parse(value, length: Int64(bytes.count))
        else { return self.response(200, fields, body: bytes) }
        guard !range.isEmpty else { return self.response(416, ["Content-Range": "bytes */\(bytes.count)"]) }
        var response = self.response(206, fields, body: Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
        response.fields.append(
            "Content-Range",
            "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)"
        )
        return response
    }

    /// A failure without a response.
    public static func failure(_ failure: ScriptedFailure) -> ScriptedResponse { ScriptedResponse(.failure(failure)) }

    /// No response: the request waits until the session's timeout or a cancellation ends it.
    public static var silence: ScriptedResponse { ScriptedResponse(.silence) }

    /// The same, after a delay.
    public func delayed(by delay: Duration) -> ScriptedResponse {
        var response = self
        response.delay = delay
        return response
    }

    /// The same, with a body that arrives in pieces.
    ///
    /// - Parameters:
    ///   - size: The maximum size of a piece in bytes, at least 1.
    ///   - interval: The time before each piece.
    /// - Returns: The response.
    public func inPieces(of size: Int, every interval: Duration = .zero) -> ScriptedResponse {
        var response = self
        response.pieceSize = max(1, size)
        response.interval = interval
        return response
    }

    /// The same, but the connection fails when this many bytes of the body were sent.
    public func failing(
        after count: Int,
        with failure: ScriptedFailure = .connectionReset
    ) -> ScriptedResponse {
        var response = self
        response.end = (max(0, count), failure)
        return response
    }

    /// The head of the response to a request with this method.
    func head(for method: String) -> ResponseHead {
        var fields = self.fields
        let hasNoBody = self.status == 204 || self.status == 304
        if !hasNoBody, fields["Transfer-Encoding"] == nil, fields["Content-Length"] == nil {
            fields.append("Content-Length", String(self.body.count))
        }
        if hasNoBody || method == "HEAD" {
            return ResponseHead(status: self.status, fields: fields, framing: .none)
        }
        if fields["Transfer-Encoding"] != nil {
            return ResponseHead(status: self.status, fields: fields, framing: .chunked)
        }
        let length = fields["Content-Length"].flatMap { Int64($0) }
        let framing = length.map { BodyFraming.length($0) } ?? .untilClose
        return ResponseHead(status: self.status, fields: fields, framing: framing)
    }
}
