// SPDX-License-Identifier: Apache-2.0
/// The request line and the header fields of a request.
///
/// - Source: RFC 9112 §3.
package struct RequestHead: Sendable {
    /// The method as sent; methods are case-sensitive (RFC 9110 §9.1).
    package var method: String
    /// The request target as sent (RFC 9112 §3.2).
    package var target: String
    /// The minor version of HTTP/1: 0 or 1.
    package var minorVersion: Int
    package var fields: HeaderFields
    /// The framing of the content.
    package var framing: Framing
    /// Whether the connection may carry another request after this one (RFC 9112 §9.3).
    package var keepsAlive: Bool

    /// The framing of a request's content, which determines its end.
    ///
    /// - Source: RFC 9112 §6.3.
    package enum Framing: Hashable, Sendable {
        /// The request has no content.
        case none
        /// `Content-Length` declares this many bytes.
        case length(Int64)
        /// The content is chunked and ends with its last chunk.
        case chunked
    }

    package init(
        method: String,
        target: String,
        fields: HeaderFields = [:],
        framing: Framing = .none,
        minorVersion: Int = 1,
        keepsAlive: Bool = true
    ) {
        self.method = method
        self.target = target
        self.minorVersion = minorVersion
        self.fields = fields
        self.framing = framing
        self.keepsAlive = keepsAlive
    }

    /// Whether the client waits for 100 (Continue) before it sends the content (RFC 9110 §10.1.1).
    package var expectsContinue: Bool {
        self.minorVersion > 0 && self.framing != .none
            && (self.fields["Expect"]?.utf8.elementsEqual("100-continue".utf8) { ASCII.lowercase($0) == $1 } ?? false)
    }

    /// The declared length of the content; 0 if there is none, `nil` if it is unknown.
    package var contentLength: Int64? {
        switch self.framing {
        case .none: 0
        case .length(let length): length
        case .chunked: nil
        }
    }
}
