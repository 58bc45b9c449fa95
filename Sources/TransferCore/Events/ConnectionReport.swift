// SPDX-License-Identifier: Apache-2.0
/// The connection of one request: its addresses, and the times of its making.
///
/// Times are ages in nanoseconds at the report, so that no clock has to be shared.
package struct ConnectionReport: Sendable, Hashable {
    /// A span of time that has ended.
    package struct Span: Sendable, Hashable {
        /// The age of its begin.
        package var start: Int64
        /// The age of its end, at most that of the begin.
        package var end: Int64

        /// Creates a span.
        package init(start: Int64, end: Int64) {
            self.start = start
            self.end = end
        }
    }

    /// One end of the connection.
    package struct End: Sendable, Hashable {
        /// The numeric address, without brackets.
        package var address: String
        package var port: Int

        /// Creates an end.
        package init(address: String, port: Int) {
            self.address = address
            self.port = port
        }
    }

    /// Whether an earlier request used the connection; the spans are `nil` then.
    package var isReused = false
    /// Whether it leads to a proxy.
    package var hasProxy = false
    /// The peer, which is the proxy if there is one.
    package var remote: End?
    /// This machine.
    package var local: End?
    /// The name's resolution; `nil` if the host is an address.
    package var lookup: Span?
    /// From the first attempt to connect until a request can be sent: tunnel and handshakes are included.
    package var connect: Span?
    /// The TLS handshake with the origin, or with the proxy that forwards the request.
    package var handshake: Span?

    /// Creates a report without addresses and times.
    package init() {}
}
