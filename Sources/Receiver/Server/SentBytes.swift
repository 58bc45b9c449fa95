internal import NIOCore

/// How much of what was sent the client has acknowledged.
enum SentBytes {
    /// The part of `struct tcp_info` up to `tcpi_bytes_acked` (since Linux 4.1), which lies behind eight bytes,
    /// twenty-four 32-bit numbers and two pacing rates.
    private struct Information {
        var small: UInt64 = 0
        var numbers: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
        var moreNumbers: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
        var pacingRate: UInt64 = 0
        var maximumPacingRate: UInt64 = 0
        var bytesAcknowledged: UInt64 = 0
    }

    /// `TCP_INFO`; see tcp(7).
    static func of(_ provider: any SocketOptionProvider) -> EventLoopFuture<UInt64> {
        let information: EventLoopFuture<Information> = provider.unsafeGetSocketOption(
            level: .tcp,
            name: NIOBSDSocket.Option(rawValue: 11)
        )
        return information.map(\.bytesAcknowledged)
    }
}
