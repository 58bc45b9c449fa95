internal import NIOCore

/// How much of what was sent the client has acknowledged.
enum SentBytes {
    /// The part of `struct tcp_info` up to `tcpi_notsent_bytes` (since Linux 4.6): eight bytes, twenty-four 32-bit numbers
    /// of which the fifth is `tcpi_unacked`, two pacing rates, `tcpi_bytes_acked`, `tcpi_bytes_received`, two counts of
    /// segments.
    ///
    /// Of two numbers in one here the first is the lower half: Swift runs on little-endian machines only.
    private struct Information {
        var small: UInt64 = 0
        var numbers: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
        var moreNumbers: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
        var pacingRate: UInt64 = 0
        var maximumPacingRate: UInt64 = 0
        var bytesAcknowledged: UInt64 = 0
        var bytesReceived: UInt64 = 0
        var segments: UInt64 = 0
        var unsent: UInt64 = 0

        /// Segments that were sent and not acknowledged.
        var unacknowledged: UInt32 { UInt32(truncatingIfNeeded: self.numbers.2) }
        /// Bytes that were not sent yet.
        var waiting: UInt32 { UInt32(truncatingIfNeeded: self.unsent) }
    }

    /// How many bytes were acknowledged.
    static func of(_ provider: any SocketOptionProvider) -> EventLoopFuture<UInt64> {
        self.information(provider).map(\.bytesAcknowledged)
    }

    /// Whether everything that was written was acknowledged.
    static func areAllAcknowledged(_ provider: any SocketOptionProvider) -> EventLoopFuture<Bool> {
        self.information(provider).map { $0.unacknowledged == 0 && $0.waiting == 0 }
    }

    /// `TCP_INFO`; see tcp(7).
    private static func information(_ provider: any SocketOptionProvider) -> EventLoopFuture<Information> {
        provider.unsafeGetSocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: 11))
    }
}
