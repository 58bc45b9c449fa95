internal import Hummingbird
internal import NIOCore

/// The context of a request: its connection.
struct DaemonRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The connection.
    let channel: any Channel
    /// Whether the connection is over the Unix socket.
    let isLocal: Bool

    init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.channel = source.channel
        if case .unixDomainSocket? = source.channel.localAddress { self.isLocal = true } else { self.isLocal = false }
    }

    /// The peer's address, for the log.
    var address: String { self.channel.remoteAddress?.ipAddress ?? "the Unix socket" }
}
