// SPDX-License-Identifier: Apache-2.0
/// The start line and the header fields of a final response.
///
/// - Source: RFC 9112 §4.
public struct ResponseHead: Sendable {
    /// The minor version of HTTP/1: 0 or 1.
    public var minorVersion: Int

    /// The status code, 200 to 999.
    public var status: Int

    /// The reason phrase, which may be empty.
    public var reason: String

    /// The header fields.
    public var fields: HeaderFields

    /// The framing of the body.
    public var framing: BodyFraming

    /// Whether the response is from the network or from a cache.
    public var source = ResponseSource.network

    /// Whether the response refuses a request without a client certificate, although the server's handshake asked for one.
    package var lacksClientCertificate = false

    /// Creates a response head.
    public init(
        status: Int,
        reason: String = "",
        fields: HeaderFields = [:],
        framing: BodyFraming,
        minorVersion: Int = 1
    ) {
        self.minorVersion = minorVersion
        self.status = status
        self.reason = reason
        self.fields = fields
        self.framing = framing
    }
}

/// The framing of a response's body, which determines its end.
///
/// - Source: RFC 9112 §6.3.
public enum BodyFraming: Hashable, Sendable {
    /// The response has no body.
    case none
    /// `Content-Length` declares this many bytes.
    case length(Int64)
    /// The body is chunked and ends with its last chunk.
    case chunked
    /// The end of the connection ends the body.
    case untilClose
}
