internal import Hummingbird
internal import NIOCore

/// What a route knows of the connection its request came on.
struct DaemonRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The connection.
    let channel: any Channel
    /// Whether it is the Unix socket.
    let isLocal: Bool

    init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.channel = source.channel
        if case .unixDomainSocket? = source.channel.localAddress { self.isLocal = true } else { self.isLocal = false }
    }

    /// The peer's address, for the log.
    var address: String { self.channel.remoteAddress?.ipAddress ?? "the Unix socket" }
}
