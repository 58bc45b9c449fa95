// SPDX-License-Identifier: Apache-2.0
package import NIOCore

/// The timeouts of a connection.
package struct ConnectionTimes: Sendable, Hashable {
    /// The maximum time for a request head, from its first byte; for the first request, from the start of the
    /// connection.
    package var head: TimeAmount
    /// The maximum time that a connection may wait for its next request.
    package var keepAlive: TimeAmount
    /// The maximum time without progress while a request's content is received.
    package var idle: TimeAmount
    /// The maximum time without progress while a response is sent.
    package var stall: TimeAmount
    /// The maximum time for a request's content, or `nil` for no limit.
    package var upload: TimeAmount?
    /// The minimum average rate of a request's content after the first ``idle``, in bytes per second; 0 for no minimum.
    package var slowest: Int64
    /// The maximum time for a request head, for a request's content and between requests while the client is not
    /// authenticated, or `nil` for no separate limit.
    package var unauthenticated: TimeAmount?
    /// How long input is read and discarded after the last response.
    package var linger: TimeAmount = .seconds(2)

    /// Creates timeouts.
    ///
    /// - Parameters:
    ///   - head: The time for a request head.
    ///   - keepAlive: The time to the next request.
    ///   - idle: The time without progress of a request's content.
    ///   - stall: The time without progress of a response; `nil` for the same as `idle`.
    ///   - upload: The time for a request's content, or `nil` for no limit.
    ///   - slowest: The minimum rate of a request's content, in bytes per second.
    package init(
        head: TimeAmount,
        keepAlive: TimeAmount,
        idle: TimeAmount,
        stall: TimeAmount? = nil,
        upload: TimeAmount? = nil,
        slowest: Int64 = 0
    ) {
        self.head = head
        self.keepAlive = keepAlive
        self.idle = idle
        self.stall = stall ?? idle
        self.upload = upload
        self.slowest = slowest
    }
}
