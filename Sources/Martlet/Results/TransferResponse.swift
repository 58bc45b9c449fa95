// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import TransferEngine

/// The head of a final response.
public struct TransferResponse: Sendable {
    /// The URL of the response, after any redirects.
    public let url: HTTPURL
    /// The status code.
    public let status: Int
    /// The header fields.
    public let headers: HeaderFields
    /// The length of the complete body in bytes, or `nil` if the server does not report it.
    ///
    /// For `HEAD` it is the length that the body of a `GET` would have.
    public let expectedLength: Int64?
    /// The source of the response: the server or the session's cache.
    public let source: ResponseSource

    init(url: HTTPURL, head: ResponseHead, expectedLength: Int64?) {
        self.url = url
        self.status = head.status
        self.headers = head.fields
        self.source = head.source
        self.expectedLength = expectedLength
    }

    /// Creates the response to a request; that to `HEAD` declares a length without having a body (RFC 9110 §9.3.2).
    init(to request: RequestFacts, head: ResponseHead, expectedLength: Int64?) {
        let declared = request.method == "HEAD" ? head.fields["Content-Length"].flatMap { Int64($0) } : expectedLength
        self.init(url: request.url, head: head, expectedLength: declared.flatMap { $0 >= 0 ? $0 : nil })
    }

    /// The standard name of the status, regardless of the server's reason phrase (RFC 9110 §15).
    public var reasonPhrase: String { ReasonPhrase.of(self.status) }

    /// Whether the response to a conditional request says that the caller's copy is current (304).
    public var isNotModified: Bool { self.status == 304 }

    /// The media type without parameters and in lower case, or `nil`.
    public var mediaType: String? {
        self.headers["Content-Type"].flatMap { $0.split(separator: ";", maxSplits: 1).first }
            .map { $0.filter { !$0.isWhitespace }.lowercased() }
    }

    /// The file name that the response, or else the URL, proposes; safe to use in a directory (RFC 6266 §4.3).
    public var suggestedFileName: String {
        FileName.choose(user: nil, disposition: self.headers["Content-Disposition"], url: self.url)
    }

    /// The entity tag as sent, for ``TransferRequest/ifNoneMatch(_:)``.
    public var entityTag: String? { self.headers["ETag"] }

    /// The seconds since the origin server sent or confirmed the response, if the session's cache or another one
    /// reports them (RFC 9111 §5.1).
    public var age: Int64? { self.headers["Age"].flatMap { DeltaSeconds.parse($0) } }

    /// When the representation was last modified, seconds since 1970, for
    /// ``TransferRequest/ifModified(since:)-(Int64)``.
    public var lastModified: Int64? { self.headers["Last-Modified"].flatMap { HTTPDate.parse($0) } }
}
