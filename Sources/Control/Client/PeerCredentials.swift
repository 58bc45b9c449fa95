#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

internal import NIOCore

/// Which user listens on the other end of a Unix socket: one that somebody else made in its place is told nothing.
enum PeerCredentials {
    #if canImport(Darwin)
    /// The beginning of `struct xucred`, see LOCAL_PEERCRED in unix(4); as large as the whole.
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

    /// The user that listens where this channel is connected to.
    static func user(of channel: any Channel) -> EventLoopFuture<UInt32> {
        guard let provider = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(
                ControlError(.unreachable, "this system does not tell who listens on a Unix socket")
            )
        }
        return provider.unsafeGetSocketOption(level: self.level, name: self.option)
            .map { (credentials: Credentials) in credentials.user }
    }

    /// Checks that it is this process's user.
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
