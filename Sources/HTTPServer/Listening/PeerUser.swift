// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import NIOCore

/// The user of the peer of a Unix socket.
enum PeerUser {
    /// Whether the peer belongs to the user of this process or is root.
    ///
    /// - Source: unix(7), `SO_PEERCRED`.
    static func isPermitted(_ channel: any Channel) -> Bool {
        guard let options = channel as? any SocketOptionProvider else { return false }
        let future: EventLoopFuture<PeerCredentials> = options.unsafeGetSocketOption(
            level: .init(rawValue: PeerCredentials.level),
            name: .init(rawValue: PeerCredentials.option)
        )
        // On the channel's event loop, which calls this, the future completes at once.
        let user = NIOLoopBoundBox<UInt32?>(nil, eventLoop: channel.eventLoop)
        future.assumeIsolated().whenSuccess { user.value = $0.user }
        return user.value.map { $0 == geteuid() || $0 == 0 } ?? false
    }
}
