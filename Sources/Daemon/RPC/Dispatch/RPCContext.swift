// SPDX-License-Identifier: Apache-2.0
internal import Control

/// The environment of a call.
struct RPCContext: Sendable {
    /// The daemon's operations.
    let service: any TransferService
    /// The server's configuration.
    let configuration: ServerConfiguration
    let caller: Caller
    /// All methods, for `system.listMethods`.
    let methods: RPCMethods
    /// The subscription of the calling WebSocket; `nil` for other connections.
    let subscription: EventSubscription?
    /// The access to the daemon's page, if it has one.
    var page: PageAccess?

    /// Throws `forbidden` unless the call arrived over the Unix socket.
    func requireLocal(_ what: String) throws(ControlError) {
        guard !self.caller.isLocal else { return }
        throw ControlError(
            .forbidden,
            "\(what) is only possible over the Unix socket",
            remedy: "connect to martletd.sock in the state directory"
        )
    }

    /// The directory of files whose transfer does not name one.
    var directory: String { self.service.globalOptions[.dir] ?? self.configuration.directory }
}
