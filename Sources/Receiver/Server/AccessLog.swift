// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Platform
internal import Synchronization
internal import TransferCore

/// Writes one line per request, in the Common Log Format.
///
/// Lines are buffered in memory, at most ``capacity`` bytes, and written on a pool thread, so that a terminal that does
/// not read cannot block an event loop. Lines that do not fit are counted, and the count is logged.
public final class AccessLog: Sendable {
    private struct State {
        var pending: [UInt8] = []
        var dropped = 0
        var isWriting = false
    }

    /// The maximum number of buffered bytes.
    static let capacity = 1 << 20

    private let state = Mutex(State())
    private let write: @Sendable ([UInt8]) -> Void

    /// Creates a log.
    ///
    /// - Parameter write: Writes lines; never called concurrently, and may block.
    public init(write: @escaping @Sendable ([UInt8]) -> Void) { self.write = write }

    /// Adds a line.
    func append(_ entry: LogEntry) {
        let line = Array(entry.line.utf8)
        self.state.withLock { state in
            if state.pending.count + line.count > Self.capacity {
                state.dropped += 1
            } else {
                state.pending.append(contentsOf: line)
            }
        }
    }

    /// Writes the buffered lines; blocks.
    ///
    /// Called a few times per second.
    func flush() {
        let lines = self.state.withLock { state -> [UInt8] in
            guard !state.isWriting else { return [] }
            var lines = state.pending
            if state.dropped > 0 {
                lines.append(contentsOf: "# \(state.dropped) lines were left out: the log could not be written\n".utf8)
            }
            state.pending = []
            state.dropped = 0
            state.isWriting = !lines.isEmpty
            return lines
        }
        guard !lines.isEmpty else { return }
        self.write(lines)
        self.state.withLock { $0.isWriting = false }
    }
}

/// One line of the log.
///
/// - Source: the Common Log Format of NCSA's and Apache's httpd.
struct LogEntry: Sendable, Hashable {
    var peer: String
    var user: String?
    /// Seconds since 1970.
    var time: Int64
    var method: String
    /// The path of the target, without the tokens of links; the query is omitted because it may contain secrets.
    var path: String
    var minorVersion: Int
    var status: Int
    /// The number of content bytes sent, or `nil` if unknown.
    var bytes: Int64?

    /// Creates the line of a request, or of one that cannot be parsed.
    init(_ request: Request?, from peer: String, time: Int64, status: Int, bytes: Int64?) {
        self.peer = request?.peer ?? peer
        self.user = request?.user
        self.time = time
        self.method = request?.head.method ?? "-"
        self.path = request.map { $0.basePath + ShareLink.masked(String($0.target.path)) } ?? "-"
        self.minorVersion = request?.head.minorVersion ?? 1
        self.status = status
        self.bytes = bytes
    }

    /// The line, including its line end.
    var line: String {
        let request =
            "\(Self.escape(self.method)) \(Self.escape(self.path)) HTTP/1.\(self.minorVersion)"
        let size = self.bytes.map { $0 == 0 ? "-" : "\($0)" } ?? "-"
        let user = self.user.map { Self.escape($0.replacing(" ", with: "_")) } ?? "-"
        return "\(self.peer) - \(user) [\(Timestamp.log(self.time))] \"\(request)\" \(self.status) \(size)\n"
    }

    /// Escapes quotes, backslashes and everything but visible ASCII, as httpd does.
    static func escape(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }) { return text }
        var escaped = ""
        for byte in text.utf8 {
            switch byte {
            case 0x22: escaped += "\\\""
            case 0x5C: escaped += "\\\\"
            case 0x20..<0x7F: escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default: escaped += "\\x" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
            }
        }
        return escaped
    }
}
