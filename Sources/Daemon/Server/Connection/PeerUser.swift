internal import Glibc
internal import NIOCore

/// Who is at the other end of a Unix socket.
enum PeerUser {
    /// The kernel's `struct ucred`, which the C library hides from those who do not ask for GNU's names.
    private struct Credentials {
        var process: Int32 = 0
        var user: UInt32 = 0
        var group: UInt32 = 0
    }

    /// The peer is another user.
    struct Stranger: Error {}

    /// Lets the daemon's own user in, and root.
    ///
    /// - Throws: ``Stranger``.
    /// - Source: unix(7), `SO_PEERCRED`.
    static func check(_ channel: any Channel) throws {
        guard let options = channel as? any SocketOptionProvider else { throw Stranger() }
        let future: EventLoopFuture<Credentials> = options.unsafeGetSocketOption(
            level: .socket,
            name: .init(rawValue: SO_PEERCRED)
        )
        // On the channel's own loop, where this is called, the answer is there at once.
        let user = NIOLoopBoundBox<UInt32?>(nil, eventLoop: channel.eventLoop)
        future.assumeIsolated().whenSuccess { user.value = $0.user }
        guard let peer = user.value, peer == geteuid() || peer == 0 else { throw Stranger() }
    }
}
