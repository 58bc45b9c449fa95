/// How a WebSocket was opened.
struct WebSocketOpening: Sendable, Hashable {
    /// Who opened it.
    var caller: Caller
    /// Whether it hears aria2's notifications before any token has come.
    var hearsNotifications: Bool
    /// The peer's address, for the log.
    var address: String
}
