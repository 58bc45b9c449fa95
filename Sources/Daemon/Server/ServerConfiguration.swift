internal import Control

/// How the daemon's server is reached, and what it allows.
package struct ServerConfiguration: Sendable {
    /// An address and a port.
    package struct Listen: Sendable, Hashable, CustomStringConvertible {
        /// A numeric address or a name; `127.0.0.1` unless told otherwise.
        package var host: String
        /// The port; 0 takes a free one.
        package var port: Int

        /// Creates one.
        package init(host: String = "127.0.0.1", port: Int = 6800) {
            self.host = host
            self.port = port
        }

        /// `ADDRESS:PORT`, an IPv6 address in brackets.
        package var description: String {
            self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
        }
    }

    /// Where TCP is listened on, or `nil` for nowhere; needs a ``token``.
    package var listen: Listen?
    /// The Unix socket's path, or `nil` for none.
    package var socketPath: String?
    /// The token that every call over TCP needs.
    package var token: String?
    /// Where files go that name no directory, unless the service's options say otherwise.
    package var directory: String
    /// More directories that callers over TCP may write to.
    package var moreRoots: [String] = []
    /// Origins of web pages that may call from elsewhere; `*` is all of them, and one that ends in `*` all that begin so.
    package var allowedOrigins: [String] = []
    /// Names that the `Host` field may have beside the listen address and `localhost`.
    package var allowedHosts: [String] = []
    /// Whether WebSockets from this machine hear aria2's notifications without a token.
    package var allowsOpenNotifications = false
    /// What is taken at most.
    package var limits = ServerLimits()
    /// The state directory, for `martlet.daemon`.
    package var stateDirectory = ""
    /// Seconds since 1970 at which the daemon started.
    package var started = 0.0
    /// aria2's session identifier: 40 hexadecimal digits, new at each start.
    package let sessionID: String

    /// Creates a configuration.
    package init(listen: Listen? = nil, socketPath: String? = nil, token: String? = nil, directory: String) {
        self.listen = listen
        self.socketPath = socketPath
        self.token = token
        self.directory = directory
        self.sessionID = String(
            (GID.random().description + GID.random().description + GID.random().description).prefix(40)
        )
    }

    /// All directories that callers over TCP may write to.
    var allowedRoots: [String] { [self.directory] + self.moreRoots }
}

/// What the server takes at most.
package struct ServerLimits: Sendable, Hashable {
    /// Connections over TCP; more wait until one ends.
    package var connections = 4096
    /// Connections over the Unix socket.
    package var localConnections = 1024
    /// Bytes of a request's head.
    package var head = 64 << 10
    /// Bytes of a request's body, or of a WebSocket message, over TCP.
    package var body = 8 << 20
    /// Bytes of a request's body, or of a WebSocket message, over the Unix socket.
    package var localBody = 64 << 20
    /// Bytes of all bodies that are being read at once.
    package var bodies = 256 << 20
    /// Bytes of the answer to a batch, after which its other calls are refused.
    package var answer = 64 << 20
    /// Transfers in one answer.
    package var page = 10_000
    /// The time for a request to arrive, from its first byte to its last, and for an idle connection.
    package var requestTime = Duration.seconds(60)
    /// The time for which a peer may take nothing that is sent to it.
    package var stallTime = Duration.seconds(60)
    /// The time between comments on event streams, and between pings on WebSockets.
    package var keepAlive = Duration.seconds(15)
    /// Events that wait for a reader; beyond it progress is dropped, then the reader.
    package var events = 1024

    /// Creates the usual limits.
    package init() {}
}
