internal import Control

/// What a method works with.
struct RPCContext: Sendable {
    /// The daemon.
    let service: any TransferService
    /// What it was told at its start.
    let configuration: ServerConfiguration
    /// Who asks.
    let caller: Caller
    /// All methods, for those who ask for them.
    let methods: RPCMethods
    /// The socket that asks, where it is a WebSocket.
    let subscription: EventSubscription?

    /// Refuses what only a program of this machine and user may ask.
    func requireLocal(_ what: String) throws(ControlError) {
        guard !self.caller.isLocal else { return }
        throw ControlError(
            .forbidden,
            "\(what) is possible over the Unix socket only",
            remedy: "connect to martletd.sock in the state directory"
        )
    }

    /// Where files go that name no directory.
    var directory: String { self.service.globalOptions[.dir] ?? self.configuration.directory }
}
