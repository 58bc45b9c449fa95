// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// Reads from the kernel how many bytes it has sent to the client.
enum SentBytes {
    /// The part of `struct tcp_info` up to `tcpi_bytes_retrans` (since Linux 4.19): eight bytes, twenty-four 32-bit
    /// fields of which the fifth is `tcpi_unacked`, two pacing rates, `tcpi_bytes_acked`, `tcpi_bytes_received`, two
    /// segment counts, `tcpi_notsent_bytes`, `tcpi_min_rtt`, two counts of data segments, four rates and times, two
    /// counts of delivered segments, `tcpi_bytes_sent`.
    ///
    /// Each 64-bit integer here holds two 32-bit fields, the first in the lower half: Swift on Linux is little-endian
    /// only.
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
        var dataSegments: UInt64 = 0
        var ratesAndTimes: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        var delivered: UInt64 = 0
        var bytesSent: UInt64 = 0
        var bytesSentAgain: UInt64 = 0

        /// The number of segments sent and not acknowledged.
        var unacknowledged: UInt32 { UInt32(truncatingIfNeeded: self.numbers.2) }
        /// The number of bytes not sent yet.
        var waiting: UInt32 { UInt32(truncatingIfNeeded: self.unsent) }
    }

    /// The number of bytes that left this machine, each counted once.
    ///
    /// Not the number that was acknowledged: a client that has received bytes need not acknowledge them.
    static func of(_ provider: any SocketOptionProvider) -> EventLoopFuture<UInt64> {
        self.information(provider)
            .map { max($0.bytesAcknowledged, $0.bytesSent &- min($0.bytesSent, $0.bytesSentAgain)) }
    }

    /// Whether all written bytes were acknowledged.
    static func areAllAcknowledged(_ provider: any SocketOptionProvider) -> EventLoopFuture<Bool> {
        self.information(provider).map { $0.unacknowledged == 0 && $0.waiting == 0 }
    }

    /// `TCP_INFO`; see tcp(7).
    private static func information(_ provider: any SocketOptionProvider) -> EventLoopFuture<Information> {
        provider.unsafeGetSocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: 11))
    }
}
