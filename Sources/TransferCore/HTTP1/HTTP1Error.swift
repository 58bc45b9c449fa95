// SPDX-License-Identifier: Apache-2.0
/// The reason why a response cannot be parsed.
package enum HTTP1Error: Error, Hashable, Sendable, CustomStringConvertible {
    /// The heads of the response, interim ones included, are larger than allowed.
    case headTooLarge
    /// The response has more interim responses than allowed.
    case tooManyInterimResponses
    /// The first line is not a status line of HTTP/1 (RFC 9112 §4).
    case invalidStatusLine
    /// The server sends frames of HTTP/2 (RFC 9113 §4.1).
    case onlyHTTP2
    /// The server switched to another protocol without a request (RFC 9110 §15.2.2).
    case unexpectedUpgrade
    /// A field line violates the grammar (RFC 9112 §5).
    case invalidField
    /// A Content-Length is not a number that can be represented (RFC 9110 §8.6).
    case invalidContentLength
    /// Several Content-Length values differ (RFC 9112 §6.3).
    case conflictingContentLengths
    /// The Transfer-Encoding is not just `chunked` (RFC 9112 §6.1).
    case unsupportedTransferCoding
    /// The framing of a chunk violates the grammar (RFC 9112 §7.1).
    case invalidChunk
    /// A chunk's size cannot be represented.
    case chunkSizeOverflow
    /// The line of a chunk's size and extensions is longer than allowed.
    case chunkLineTooLong
    /// The trailer fields are larger than allowed.
    case trailersTooLarge

    /// A message for the user.
    package var description: String {
        switch self {
        case .headTooLarge: "the response's header fields are too large"
        case .tooManyInterimResponses: "the server sends interim responses without an end"
        case .invalidStatusLine: "the response does not start with an HTTP/1 status line"
        case .onlyHTTP2: "the server speaks only HTTP/2 on this port, but HTTP/1.1 is required"
        case .unexpectedUpgrade: "the server switched to another protocol without a request"
        case .invalidField: "the response contains a malformed header field"
        case .invalidContentLength: "the response's Content-Length is not a valid number"
        case .conflictingContentLengths: "the response declares several different lengths"
        case .unsupportedTransferCoding: "the response uses a transfer coding other than chunked"
        case .invalidChunk: "the response's chunked framing is malformed"
        case .chunkSizeOverflow: "the response declares a chunk that is impossibly large"
        case .chunkLineTooLong: "the response's chunk extensions are too long"
        case .trailersTooLarge: "the response's trailer fields are too large"
        }
    }
}
