// SPDX-License-Identifier: Apache-2.0
internal import Platform

internal import NIOCore

/// The user of the process listening on a Unix socket: nothing is sent to a socket that another user created.
enum PeerCredentials {
    #if canImport(Darwin)
    /// The beginning of `struct xucred`, see LOCAL_PEERCRED in unix(4), with the size of the whole structure.
    private struct Credentials {
        var version: UInt32 = 0
        var user: UInt32 = 0
        var groupCount: Int16 = 0
        var groups: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    }
    private static let level = NIOBSDSocket.OptionLevel(rawValue: 0)
    private static let option = NIOBSDSocket.Option(rawValue: 1)
    #else
    /// `struct ucred`, see unix(7).
    private struct Credentials {
        var process: Int32 = 0
        var user: UInt32 = 0
        var group: UInt32 = 0
    }
    private static let level = NIOBSDSocket.OptionLevel(rawValue: SOL_SOCKET)
    private static let option = NIOBSDSocket.Option(rawValue: SO_PEERCRED)
    #endif

    /// The user of the process that listens on the channel's remote socket.
    static func user(of channel: any Channel) -> EventLoopFuture<UInt32> {
        guard let provider = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(
                ControlError(.unreachable, "this system does not tell who listens on a Unix socket")
            )
        }
        return provider.unsafeGetSocketOption(level: self.level, name: self.option)
            .map { (credentials: Credentials) in credentials.user }
    }

    /// Checks that the user is this process's effective user.
    ///
    /// - Throws: ``ControlError`` with `forbidden`.
    static func check(_ user: UInt32, _ path: String) throws(ControlError) {
        guard user != geteuid() else { return }
        throw ControlError(
            .forbidden,
            "user \(user) listens on '\(path)', and this is user \(geteuid())",
            remedy: "run as that user, or name another --state-dir"
        )
    }
}
