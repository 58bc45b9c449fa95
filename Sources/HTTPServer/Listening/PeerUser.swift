// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import NIOCore

/// The user of the peer of a Unix socket.
enum PeerUser {
    /// The peer belongs to another user.
    struct Stranger: Error {}

    /// Checks that the peer belongs to the user of this process or is root.
    ///
    /// - Throws: ``Stranger``.
    /// - Source: unix(7), `SO_PEERCRED`.
    static func check(_ channel: any Channel) throws {
        guard let options = channel as? any SocketOptionProvider else { throw Stranger() }
        let future: EventLoopFuture<PeerCredentials> = options.unsafeGetSocketOption(
            level: .init(rawValue: PeerCredentials.level),
            name: .init(rawValue: PeerCredentials.option)
        )
        // On the channel's event loop, which calls this, the future completes at once.
        let user = NIOLoopBoundBox<UInt32?>(nil, eventLoop: channel.eventLoop)
        future.assumeIsolated().whenSuccess { user.value = $0.user }
        guard let peer = user.value, peer == geteuid() || peer == 0 else { throw Stranger() }
    }
}
