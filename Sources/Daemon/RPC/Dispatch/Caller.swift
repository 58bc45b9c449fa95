/// Who makes a call, as far as it decides what the call may do.
struct Caller: Sendable, Hashable {
    /// Whether the call came over the Unix socket: the same user, who may do what the daemon may.
    var isLocal: Bool
    /// Whether the request or the socket that carries the call was authenticated as a whole.
    var isAuthenticated: Bool
}
