// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// A request as a server of a world receives it.
package struct ServerRequest {
    /// The number of the request in the world, from 1.
    package var number: Int
    /// The process that sent it.
    package var process: Int
    /// The connection on which it came; its number is not used again.
    package var connection: Int
    /// The other connections of this host that are in use.
    package var others: Int
    package var method: String
    package var url: HTTPURL
    package var fields: HeaderFields

    /// The requested range of a representation of this length, half-open.
    ///
    /// - Returns: `nil` for a request without a valid range; an empty range at the end if it cannot be satisfied.
    package func range(of length: Int64) -> Range<Int64>? {
        guard let field = self.fields["Range"], field.hasPrefix("bytes=") else { return nil }
        let parts = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        guard let start = Int64(parts[0]) else {
            guard let suffix = Int64(parts[1]), suffix > 0 else { return nil }
            return max(0, length - suffix)..<length
        }
        guard start < length else { return length..<length }
        return start..<min(length, max(start, Int64(parts[1]) ?? length - 1) + 1)
    }
}

/// The response of a server, with its faults.
package struct ServerReply {
    /// The response's head; `nil` if the connection breaks before it.
    package var head: ResponseHead?
    /// The content that the body is part of.
    package var content: SimulatedContent?
    /// The part that is sent.
    package var range: Range<Int64> = 0..<0
    /// The time from the request to the head, in nanoseconds.
    package var delay: Int64 = 1_000_000
    /// Bytes per second of the body.
    package var rate: Int64 = 4_000_000
    /// The number of bytes of the body after which the connection breaks; `nil` if it does not.
    package var cut: Int64?
    /// How it breaks; `nil` ends the connection without an error, as a server does that has ended.
    package var failure: TransportError.Code?
    /// The number of bytes after which nothing is sent any more, and the connection stays open.
    package var stall: Int64?
    /// A pause within the body: after how many bytes, and how long in nanoseconds.
    package var pause: (after: Int64, duration: Int64)?
    /// The interim responses before the head.
    package var interim: [Int] = []
    /// The trailer fields.
    package var trailers: HeaderFields = [:]
    /// Whether the connection is kept for other requests.
    package var keepsConnection = true

    /// Creates a reply without content.
    package init(_ status: Int, _ fields: HeaderFields = [:]) {
        self.head = ResponseHead(status: status, fields: fields, framing: .none)
    }

    /// Creates a reply that breaks the connection before a head.
    package init(breaking code: TransportError.Code) {
        self.cut = 0
        self.failure = code
    }
}

/// A server of a world.
package protocol SimulatedServer: AnyObject {
    /// Decides about a request when it arrives.
    func reply(to request: ServerRequest) -> ServerReply

    /// A part of a body was delivered to the process.
    func delivered(_ count: Int, to request: ServerRequest)
}
