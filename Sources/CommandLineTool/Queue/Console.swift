#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif
import Synchronization

/// Where a command of the queue writes: the standard streams, or the memory of a test.
final class Console: Sendable {
    private let streams: (output: OutputStream, errors: OutputStream)?
    private let kept = Mutex((output: "", errors: ""))
    private let region = Mutex(LiveRegion())
    /// Whether lines may be drawn again and again on standard error.
    let isLive: Bool

    /// Writes to the standard streams.
    init() {
        self.streams = (OutputStream(STDOUT_FILENO), OutputStream(STDERR_FILENO))
        self.isLive = Terminal.isInteractive(STDERR_FILENO)
    }

    /// Keeps what is written.
    init(keeping: Void) {
        self.streams = nil
        self.isLive = false
    }

    /// What was written to standard output and to standard error, where it is kept.
    var text: (output: String, errors: String) { self.kept.withLock { $0 } }

    /// Whether the reader of standard output went away.
    var isBroken: Bool { self.streams?.output.isBroken ?? false }

    /// Writes lines to standard output.
    func print(_ lines: [String]) {
        guard !lines.isEmpty else { return }
        let text = lines.joined(separator: "\n") + "\n"
        if let streams = self.streams { streams.output.write(text) } else { self.kept.withLock { $0.output += text } }
    }

    /// Writes a line to standard output.
    func print(_ line: String) { self.print([line]) }

    /// Writes a line to standard error, above what is drawn there.
    func tell(_ line: String) {
        let line = DisplayText.clean(line, asciiOnly: !Terminal.isUnicode)
        guard let streams = self.streams else { return self.kept.withLock { $0.errors += line + "\n" } }
        guard self.isLive else { return streams.errors.write(line + "\n") }
        let columns = Terminal.size(STDERR_FILENO).columns
        streams.errors.write(self.region.withLock { $0.draw(above: [line], frame: [], columns: columns) })
    }

    /// Draws lines at the foot of the terminal, in place of those drawn before; none takes them away.
    func draw(_ frame: [String]) {
        guard self.isLive, let streams = self.streams else { return }
        let columns = Terminal.size(STDERR_FILENO).columns
        streams.errors.write(self.region.withLock { $0.draw(above: [], frame: frame, columns: columns) })
    }
}
