internal import Glibc
internal import Synchronization

/// Writes one line for each request, in the Common Log Format, from a thread of its own.
///
/// Lines wait in memory, at most ``capacity`` bytes of them: a terminal that does not read holds up no loop. Lines that
/// find no room are counted, and the count is written.
public final class AccessLog: Sendable {
    private struct State {
        var pending: [UInt8] = []
        var dropped = 0
        var isWriting = false
    }

    /// The most bytes that wait.
    static let capacity = 1 << 20

    private let state = Mutex(State())
    private let write: @Sendable ([UInt8]) -> Void

    /// Creates a log.
    ///
    /// - Parameter write: Writes some lines; called on one thread at a time, and may block.
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

    /// Writes what waits; called a few times a second.
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
    /// The target's path; the query stays out, for it may hold what is secret.
    var path: String
    var minorVersion: Int
    var status: Int
    /// The bytes of the content that were sent, or `nil` where that is not known.
    var bytes: Int64?

    /// The line, with its end.
    var line: String {
        let request =
            "\(Self.escape(self.method)) \(Self.escape(ShareLink.masked(self.path))) HTTP/1.\(self.minorVersion)"
        let size = self.bytes.map { $0 == 0 ? "-" : "\($0)" } ?? "-"
        let user = self.user.map { Self.escape($0.replacing(" ", with: "_")) } ?? "-"
        return "\(self.peer) - \(user) [\(Timestamp.log(self.time))] \"\(request)\" \(self.status) \(size)\n"
    }

    /// The text with quotes, backslashes and everything that is not visible ASCII escaped, as httpd does.
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
