/// One request: what to ask for, and what is special about asking.
///
/// What it leaves open is the session's configuration's.
public struct TransferRequest: Sendable {
    /// The URL to ask first.
    public var url: HTTPURL

    /// More URLs of the same file, for downloads; they help where the first is slow or fails.
    public var mirrors: [HTTPURL] = []

    /// The method, a token in its own case; `GET` by default.
    public var method = "GET"

    /// The request's own header fields; they replace those of the same name that the configuration has.
    ///
    /// But for a few that only name the client, none of them goes to another origin after a redirect.
    public var headers = HTTPFields()

    /// The content to send, or `nil` for none.
    public var body: [UInt8]?

    /// The page that the request comes from, sent as `Referer` without its user information.
    public var referer: HTTPURL?

    /// The order in which waiting tasks start.
    public var priority = Priority.normal

    /// No bytes for this long end an attempt; also the time for a complete response head.
    ///
    /// `nil` takes the configuration's, zero is none.
    public var requestTimeout: Duration?

    /// The whole transfer, from its first start and never from its queueing.
    ///
    /// `nil` takes the configuration's, zero is none.
    public var resourceTimeout: Duration?

    /// The most bytes a second, or `nil`.
    public var rateLimit: Int64?

    /// Digests that a downloaded file must have.
    public var expectedDigests: [ExpectedDigest] = []

    /// The fields that make the request conditional.
    private(set) var conditions: [(String, String)] = []

    /// Creates a request for a URL.
    public init(_ url: HTTPURL) {
        self.url = url
    }

    /// Creates a request for a URL as people write it.
    ///
    /// - Throws: ``TransferError`` with `badURL` that says what is wrong with it.
    public init(_ url: String) throws(TransferError) {
        do {
            self.url = try HTTPURL(url)
        } catch {
            throw TransferError(.badURL, error.message)
        }
    }

    /// Asks only for what is newer; the answer may be that nothing is (``HTTPResponse/isNotModified``).
    ///
    /// - Parameter seconds: Seconds since 1970-01-01T00:00:00Z.
    /// - Returns: The conditional request.
    /// - Source: RFC 9110 §13.1.3.
    public func ifModified(since seconds: Int64) -> TransferRequest {
        self.conditional("If-Modified-Since", HTTPDate.format(seconds))
    }

    /// Asks only for what has another entity tag; the answer may be that nothing has.
    ///
    /// - Parameter entityTag: The tag as the server sent it, its quotes and any `W/` included.
    /// - Returns: The conditional request.
    /// - Source: RFC 9110 §13.1.2.
    public func ifNoneMatch(_ entityTag: String) -> TransferRequest {
        self.conditional("If-None-Match", entityTag)
    }

    private func conditional(_ name: String, _ value: String) -> TransferRequest {
        var request = self
        request.conditions.removeAll { $0.0 == name }
        request.conditions.append((name, value))
        return request
    }
}

/// What a task can be made for: a ``TransferRequest``, or a URL in any of its forms.
public protocol RequestConvertible: Sendable {
    /// The request.
    ///
    /// - Throws: ``TransferError`` with `badURL` that says what is wrong with it.
    func transferRequest() throws(TransferError) -> TransferRequest
}

extension TransferRequest: RequestConvertible {
    /// The request itself.
    public func transferRequest() -> TransferRequest { self }
}

extension HTTPURL: RequestConvertible {
    /// A plain request for this URL.
    public func transferRequest() -> TransferRequest { TransferRequest(self) }
}

extension String: RequestConvertible {
    /// A plain request for the URL that the text is.
    public func transferRequest() throws(TransferError) -> TransferRequest { try TransferRequest(self) }
}
