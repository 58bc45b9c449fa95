// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import TransferCore
internal import TransferEngine

/// The times of the making of one connection, for a report.
///
/// Several connections may be tried at once (RFC 8305). They share a timeline, which ends when the first of them is ready.
///
/// `@unchecked Sendable`: the variables are used on the event loop of the connections only.
final class ConnectionTimeline: @unchecked Sendable {
    private var lookupStart: NIODeadline?
    private var lookupEnd: NIODeadline?
    private var connectStart: NIODeadline?
    private var handshakeStart: NIODeadline?
    private var end: NIODeadline?

    /// The name is being looked up.
    func lookupBegan() { self.lookupStart = .now() }

    /// The addresses are known.
    func lookupEnded() {
        self.lookupEnd = .now()
        self.connectStart = self.lookupEnd
    }

    /// Connecting to an address begins.
    func connectBegan() { self.connectStart = .now() }

    /// A TLS handshake begins; the last one is the origin's.
    func handshakeBegan() { if self.end == nil { self.handshakeStart = .now() } }

    /// Requests can be sent.
    func ready() { if self.end == nil { self.end = .now() } }

    /// Adds the times to a report, as ages.
    func add(to report: inout ConnectionReport) {
        let now = NIODeadline.now()
        func span(_ start: NIODeadline?, _ end: NIODeadline?) -> ConnectionReport.Span? {
            guard let start, let end else { return nil }
            return ConnectionReport.Span(start: (now - start).nanoseconds, end: (now - end).nanoseconds)
        }
        report.lookup = span(self.lookupStart, self.lookupEnd)
        report.connect = span(self.connectStart, self.end)
        report.handshake = span(self.handshakeStart, self.end)
    }
}

extension ConnectionReport.End {
    /// An end of a TCP connection; `nil` for another address.
    init?(_ address: SocketAddress) {
        guard let text = address.ipAddress, let port = address.port else { return nil }
        self.init(address: text, port: port)
    }
}
