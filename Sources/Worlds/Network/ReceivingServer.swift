// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// A server that receives the content of requests.
package protocol ReceivingServer: SimulatedServer {
    /// Decides about a request with content when its head arrives.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - length: The declared length of the content, or `nil`.
    /// - Returns: How the content is received.
    func began(_ request: ServerRequest, length: Int64?) -> ContentTerms

    /// Content arrived.
    ///
    /// - Returns: A response to send before the rest of the content arrives, or `nil`.
    func received(_ bytes: ArraySlice<UInt8>, of request: ServerRequest) -> ServerReply?

    /// All the content of a request arrived.
    func completed(_ request: ServerRequest) -> ServerReply

    /// The connection ended before all the content arrived.
    func interrupted(_ request: ServerRequest)
}

/// How a server receives the content of a request.
package struct ContentTerms {
    /// Interim responses that are sent before any content is read.
    package var interim: [(status: Int, fields: HeaderFields)] = []
    /// A final response that is sent before any content is read.
    package var reply: ServerReply?
    /// The number of bytes after which the connection breaks, and how; the server receives exactly these.
    package var cut: (after: Int64, code: TransportError.Code)?
    /// The number of bytes after which the server reads nothing for some time in nanoseconds; `nil` for ever.
    package var stall: (after: Int64, duration: Int64?)?
    /// Bytes per second.
    package var rate: Int64 = 8_000_000

    /// Creates the terms of a server that reads everything.
    package init() {}
}
