/// The result of a WebSocket's handshake.
struct WebSocketOpening: Sendable, Hashable {
    /// The caller that opened it.
    var caller: Caller
    /// Whether it receives aria2's notifications before a call with a token.
    var hearsNotifications: Bool
    /// The peer's address, for the log.
    var address: String
}
