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

    /// The value of the `Referer` field, sent without user information.
    public var referer: HTTPURL?

    /// The priority among waiting tasks.
    public var priority = Priority.normal

    /// The timeout for an attempt that receives no bytes; also the time for a complete response head.
    ///
    /// `nil` for the configuration's, zero for none.
    public var requestTimeout: Duration?

    /// The timeout for the whole transfer, counted from its first start, not from its submission.
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
    private(set) var conditions: [(String, String)] = []

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
