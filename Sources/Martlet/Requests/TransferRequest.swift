// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// One request and its options.
///
/// Options that it does not set are taken from the session's configuration.
public struct TransferRequest: Sendable {
    /// The URL that is requested first.
    public var url: HTTPURL

    /// More URLs of the same file, for downloads; they are used if the first is slow or fails.
    public var mirrors: [HTTPURL] = []

    /// The method, a case-sensitive token; `GET` by default.
    public var method = "GET"

    /// The header fields of the request; they replace the configuration's fields of the same name.
    ///
    /// After a redirect to another origin, only those that identify the client are sent.
    public var headers = HeaderFields()

    /// The content to send, or `nil` for none.
    public var body: [UInt8]?

    /// Whether the request may be sent again although the server may have performed it, and its method is not idempotent.
    ///
    /// GET, HEAD, PUT, DELETE and other idempotent methods (RFC 9110 §9.2.2) are repeated anyway. A POST or a PATCH is sent
    /// again only with this permission: after an interruption, a suspension, and the end of the daemon.
    public var mayBeRepeated = false

    /// Whether a response of any status is the task's result; otherwise a status other than success fails the task.
    ///
    /// Redirects are followed and challenges are answered before. The caller looks at the status; none is retried. For data
    /// and upload tasks; downloads, and the uploads of background sessions, fail nevertheless.
    public var acceptsAnyStatus = false

    /// Whether `Idempotency-Key` is sent with a random value, the same for every attempt of a task, also after the end of
    /// the program or the daemon in a background session.
    ///
    /// A server that supports the field performs the request once. A field of that name in ``headers`` takes precedence.
    ///
    /// - Source: draft-ietf-httpapi-idempotency-key-header-06.
    public var sendsIdempotencyKey = false

    /// The value of the `Referer` field, sent without user information.
    public var referer: HTTPURL?

    /// The priority among waiting tasks.
    public var priority = Priority.normal

    /// The timeout for an attempt that receives no bytes; also the time for a complete response head.
    ///
    /// `nil` for the configuration's, zero for none.
    public var requestTimeout: Duration?

    /// The timeout for the whole transfer, counted from its first start, not from its submission; see
    /// ``SessionConfiguration/resourceTimeout``.
    ///
    /// `nil` for the configuration's, zero for none.
    public var resourceTimeout: Duration?

    /// The rate limit in bytes per second, or `nil`.
    public var rateLimit: Int64?

    /// How the session's cache is used, for data tasks; `nil` for the configuration's policy.
    public var cachePolicy: CachePolicy?

    /// The expected digests of a downloaded file.
    public var expectedDigests: [ExpectedDigest] = []

    /// The fields that make the request conditional.
    package private(set) var conditions: [(String, String)] = []

    /// Creates a request for a URL.
    public init(_ url: HTTPURL) {
        self.url = url
    }

    /// Creates a request for a URL as a user writes it.
    ///
    /// - Throws: ``TransferError`` with `badURL` and the reason.
    public init(_ url: String) throws(TransferError) {
        do {
            self.url = try HTTPURL(url)
        } catch {
            throw TransferError(.badURL, error.message)
        }
    }

    /// Makes the request conditional on a later modification; see ``TransferResponse/isNotModified``.
    ///
    /// - Parameter seconds: Seconds since 1970-01-01T00:00:00Z.
    /// - Returns: The conditional request.
    /// - Source: RFC 9110 §13.1.3.
    public func ifModified(since seconds: Int64) -> TransferRequest {
        self.conditional("If-Modified-Since", HTTPDate.format(seconds))
    }

    /// Makes the request conditional on a different entity tag; see ``TransferResponse/isNotModified``.
    ///
    /// - Parameter entityTag: The tag as the server sent it, with its quotes and any `W/`.
    /// - Returns: The conditional request.
    /// - Source: RFC 9110 §13.1.2.
    public func ifNoneMatch(_ entityTag: String) -> TransferRequest {
        self.conditional("If-None-Match", entityTag)
    }

    /// A new value of `Idempotency-Key`, a quoted string (RFC 9651 §3.3.3) with 128 random bits; `nil` if none is sent.
    var newIdempotencyKey: String? {
        guard self.sendsIdempotencyKey, !self.headers.contains("Idempotency-Key") else { return nil }
        return "\"" + Hexadecimal.encode((0..<16).map { _ in UInt8.random(in: 0...255) }) + "\""
    }

    private func conditional(_ name: String, _ value: String) -> TransferRequest {
        var request = self
        request.conditions.removeAll { $0.0 == name }
        request.conditions.append((name, value))
        return request
    }
}

/// A value that a task can be made for: a ``TransferRequest``, or a URL in any form.
public protocol RequestConvertible: Sendable {
    /// Returns the request.
    ///
    /// - Throws: ``TransferError`` with `badURL` and the reason.
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
    /// A plain request for the URL in the text.
    public func transferRequest() throws(TransferError) -> TransferRequest { try TransferRequest(self) }
}
