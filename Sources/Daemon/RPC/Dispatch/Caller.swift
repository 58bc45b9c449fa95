// SPDX-License-Identifier: Apache-2.0
/// The properties of a caller that determine its permissions.
struct Caller: Sendable {
    /// Whether the call arrived over the Unix socket: from the same user or root, who has the daemon's permissions.
    var isLocal: Bool
    /// Whether the request or the WebSocket that carries the call is authenticated as a whole.
    var isAuthenticated: Bool
    /// The client and the connection of the tokens in its calls.
    var sender = TokenSender()
}
