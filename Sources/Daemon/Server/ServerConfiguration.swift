// SPDX-License-Identifier: Apache-2.0
internal import Control
package import TransferCore

/// The addresses, permissions and limits of the daemon's server.
package struct ServerConfiguration: Sendable {
    /// An address and a port.
    package struct Listen: Sendable, Hashable, CustomStringConvertible {
        /// A numeric address or a name; `127.0.0.1` by default.
        package var host: String
        /// The port; 0 selects a free one.
        package var port: Int

        /// Creates an address.
        package init(host: String = "127.0.0.1", port: Int = 6800) {
            self.host = host
            self.port = port
        }

        /// The text `ADDRESS:PORT`, with an IPv6 address in brackets.
        package var description: String {
            self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
        }
    }

    /// The TCP address, or `nil` for none; requires a ``token``.
    package var listen: Listen?
    /// The Unix socket's path, or `nil` for none.
    package var socketPath: String?
    /// The token that calls over TCP must send.
    package var token: String?
    /// The directory of files whose transfer does not name one, unless the service's options set another.
    package var directory: String
    /// Additional directories that callers over TCP may access.
    package var moreRoots: [String] = []
    /// The addresses to which no request is sent for callers over TCP.
    package var deniedAddresses = AddressRule.Refused.metadata
    /// The origins of web pages that may call; a `*` at the end matches any rest, `*` alone any origin.
    package var allowedOrigins: [String] = []
    /// The host names that the `Host` field may contain in addition to the listen address and `localhost`.
    package var allowedHosts: [String] = []
    /// Whether WebSockets from this machine receive aria2's notifications without a token.
    package var allowsOpenNotifications = false
    /// The server's limits.
    package var limits = ServerLimits()
    /// The state directory, for `martlet.daemon`.
    package var stateDirectory = ""
    /// The time at which the daemon started, in seconds since 1970.
    package var started = 0.0
    /// aria2's session identifier: 40 hexadecimal digits, new at each start.
    package let sessionID: String

    package init(listen: Listen? = nil, socketPath: String? = nil, token: String? = nil, directory: String) {
        self.listen = listen
        self.socketPath = socketPath
        self.token = token
        self.directory = directory
        self.sessionID = String(
            (GID.random().description + GID.random().description + GID.random().description).prefix(40)
        )
    }

    /// All directories that callers over TCP may access.
    var allowedRoots: [String] { [self.directory] + self.moreRoots }
}

package struct ServerLimits: Sendable, Hashable {
    /// The maximum number of connections over TCP.
    ///
    /// A quarter is reserved for authenticated clients. For one more, the oldest one without such a client is closed.
    package var connections = 4096
    /// The maximum number of connections over the Unix socket; more wait until one ends.
    package var localConnections = 1024
    /// The maximum size of a request's head in bytes.
    package var head = 64 << 10
    /// The maximum size of a request's body or a WebSocket message over TCP, in bytes.
    package var body = 8 << 20
    /// The maximum size of a request's body or a WebSocket message over the Unix socket, in bytes.
    package var localBody = 64 << 20
    /// The maximum total size of all bodies in memory, in bytes, without those of unauthenticated clients.
    package var bodies = 256 << 20
    /// The number of bytes of a body or a WebSocket message over TCP within which the token must be, unless the head of
    /// the request authenticates the client.
    package var unauthenticatedBody = 64 << 10
    /// The maximum total size of all bodies and WebSocket messages of unauthenticated clients in memory, in bytes; for one
    /// more byte the oldest one is refused.
    package var unauthenticatedBodies = 16 << 20
    /// The size of a batch's response in bytes after which its other calls are refused.
    package var answer = 64 << 20
    /// The maximum number of transfers in one response.
    package var page = 10_000
    /// The timeout for receiving a request, from its first byte to its last, and for an idle connection.
    package var requestTime = Duration.seconds(60)
    /// The same while the client of a TCP connection is not authenticated.
    package var unauthenticatedTime = Duration.seconds(15)
    /// The time for which a peer may leave sent bytes unread.
    package var stallTime = Duration.seconds(60)
    /// The interval of comments on event streams and of pings on WebSockets.
    package var keepAlive = Duration.seconds(15)
    /// The maximum number of unread events of a reader; beyond it progress is dropped, then the stream ends.
    package var events = 1024

    /// Creates the default limits.
    package init() {}
}
