// SPDX-License-Identifier: Apache-2.0
/// The reason why a request cannot be parsed.
package enum RequestError: Error, Hashable, Sendable {
    /// The request line and the fields are larger than allowed.
    case headTooLarge
    /// The request target is longer than allowed.
    case targetTooLong
    /// The first line is not a request line (RFC 9112 §3).
    case invalidRequestLine
    /// The version is not HTTP/1.0 or HTTP/1.1.
    case unsupportedVersion
    /// A field line violates the grammar (RFC 9112 §5), is folded, or does not end with CR LF.
    case invalidField
    /// There are more fields than allowed.
    case tooManyFields
    /// The length of the content is declared ambiguously, so that two parsers could differ (RFC 9112 §6.3, §11.2).
    case ambiguousLength
    /// The transfer coding is not `chunked` (RFC 9112 §6.1).
    case unsupportedTransferCoding
    /// The framing of a chunk or the trailer fields violate the grammar (RFC 9112 §7.1).
    case invalidChunk
    /// The trailer fields are larger than allowed.
    case trailersTooLarge

    /// The status of the response to the client.
    ///
    /// - Source: RFC 9110 §15; RFC 6585 §5 for 431.
    package var status: Int {
        switch self {
        case .headTooLarge, .tooManyFields, .trailersTooLarge: 431
        case .targetTooLong: 414
        case .unsupportedVersion: 505
        case .unsupportedTransferCoding: 501
        case .invalidRequestLine, .invalidField, .ambiguousLength, .invalidChunk: 400
        }
    }

    /// A message for the user.
    package var message: String {
        switch self {
        case .headTooLarge: "the request's header fields are too large"
        case .targetTooLong: "the request's target is too long"
        case .invalidRequestLine: "the request does not start with an HTTP/1 request line"
        case .unsupportedVersion: "only HTTP/1.0 and HTTP/1.1 are supported"
        case .invalidField: "the request contains a malformed header field"
        case .tooManyFields: "the request has too many header fields"
        case .ambiguousLength: "the request declares its length in a malformed or contradictory way"
        case .unsupportedTransferCoding: "only the transfer coding chunked is supported"
        case .invalidChunk: "the request's chunked framing is malformed"
        case .trailersTooLarge: "the request's trailer fields are too large"
        }
    }
}
