// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// A request and its origin.
package struct Request: Sendable {
    package var head: RequestHead
    /// The path and query of the request target.
    package var target: RequestTarget
    /// The address of the client; `-` over a Unix socket.
    ///
    /// The application may replace that of a proxy.
    package var peer: String
    /// The address on which the connection was accepted, or `nil` over a Unix socket.
    package var localAddress: String?
    /// Whether the connection is over a Unix socket.
    package var isLocal: Bool
    /// Whether the connection is encrypted; behind a proxy that the application trusts, whether the client's is.
    package var isSecure: Bool
    /// Whether this is the first request of its connection.
    package var isFirst: Bool
    /// The connection's client, as the application knows it.
    package var connection = ConnectionStanding()
    /// The user, if the application knows one.
    package var user: String?
    /// The host, with an optional port, that the client addressed if a proxy reports it; otherwise that of `Host`.
    package var authority: String?
    /// The prefix that the application has removed from the target's path: empty, or with a slash before and none at
    /// its end.
    package var basePath = ""
    /// The origin whose pages may read the response, if the application allows one.
    package var allowedOrigin: String?

    package var fields: HeaderFields { self.head.fields }

    package var isRead: Bool { self.head.method == "GET" || self.head.method == "HEAD" }
}
