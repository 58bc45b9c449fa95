// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import Platform

/// The user of the process listening on a Unix socket: nothing is sent to a socket that another user created.
enum SocketOwner {
    /// The user of the process that listens on the channel's remote socket.
    static func user(of channel: any Channel) -> EventLoopFuture<UInt32> {
        guard let provider = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(
                ControlError(.unreachable, "this system does not report the user who listens on a Unix socket")
            )
        }
        return
            provider.unsafeGetSocketOption(
                level: .init(rawValue: PeerCredentials.level),
                name: .init(rawValue: PeerCredentials.option)
            )
            .map { (credentials: PeerCredentials) in credentials.user }
    }

    /// Checks that the user is this process's effective user.
    ///
    /// - Throws: ``ControlError`` with `forbidden`.
    static func check(_ user: UInt32, _ path: String) throws(ControlError) {
        guard user != geteuid() else { return }
        throw ControlError(
            .forbidden,
            "user \(user) listens on '\(path)', but this program runs as user \(geteuid())",
            remedy: "run as that user, or use another --state-dir"
        )
    }
}
