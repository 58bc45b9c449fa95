// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// The limits of a WebSocket and its handler.
package final class WebSocketUpgrade: Sendable {
    /// The maximum size of a message in bytes.
    let limit: Int
    /// The interval of pings; a client that is silent for three of them is disconnected.
    let keepAlive: TimeAmount
    /// The maximum time for which the client may leave sent bytes unread.
    let stall: TimeAmount
    /// The limits of messages until one authenticates the client; `nil` if its handshake does.
    let screening: ContentScreening?
    /// Serves the WebSocket; it closes when this returns.
    let serve: @Sendable (WebSocket) async -> Void

    /// Creates the limits of a WebSocket and its handler.
    ///
    /// - Parameters:
    ///   - limit: The maximum size of a message in bytes.
    ///   - keepAlive: The interval of pings.
    ///   - stall: The maximum time for which the client may leave sent bytes unread.
    ///   - screening: The limits of messages until one authenticates the client; `nil` if its handshake does.
    ///   - serve: Serves the WebSocket; it closes when this returns.
    package init(
        limit: Int,
        keepAlive: Duration,
        stall: Duration,
        screening: ContentScreening? = nil,
        _ serve: @escaping @Sendable (WebSocket) async -> Void
    ) {
        self.limit = limit
        self.keepAlive = TimeAmount(keepAlive)
        self.stall = TimeAmount(stall)
        self.screening = screening
        self.serve = serve
    }
}
