// SPDX-License-Identifier: Apache-2.0
import Platform
import Synchronization

/// The output of a queue command: the standard streams, or memory in tests.
final class Console: Sendable {
    private let streams: (output: OutputStream, errors: OutputStream)?
    private let kept = Mutex((output: "", errors: ""))
    private let region = Mutex(LiveRegion())
    /// Whether standard error is a terminal on which lines can be redrawn.
    let isLive: Bool
    /// Whether standard output is a terminal.
    let isOutputTerminal: Bool

    /// Writes to the standard streams.
    init() {
        self.streams = (OutputStream(STDOUT_FILENO), OutputStream(STDERR_FILENO))
        self.isLive = Terminal.isInteractive(STDERR_FILENO)
        self.isOutputTerminal = isatty(STDOUT_FILENO) == 1
    }

    /// Stores the output in memory.
    init(keeping: Void, isOutputTerminal: Bool = false) {
        self.streams = nil
        self.isLive = false
        self.isOutputTerminal = isOutputTerminal
    }

    /// The stored text of standard output and standard error.
    var text: (output: String, errors: String) { self.kept.withLock { $0 } }

    /// Whether the reader of standard output has closed it.
    var isBroken: Bool { self.streams?.output.isBroken ?? false }

    /// Writes lines to standard output.
    func print(_ lines: [String]) {
        guard !lines.isEmpty else { return }
        let text = lines.joined(separator: "\n") + "\n"
        if let streams = self.streams { streams.output.write(text) } else { self.kept.withLock { $0.output += text } }
    }

    /// Writes a line to standard output.
    func print(_ line: String) { self.print([line]) }

    /// Writes whole lines in UTF-8 to standard output.
    func print(lines: [UInt8]) {
        if let streams = self.streams {
            streams.output.write(lines)
        } else {
            self.kept.withLock { $0.output += String(decoding: lines, as: UTF8.self) }
        }
    }

    /// Writes a line to standard error, above the live region.
    func tell(_ line: String) {
        let line = DisplayText.clean(line, asciiOnly: !Terminal.isUnicode)
        guard let streams = self.streams else { return self.kept.withLock { $0.errors += line + "\n" } }
        guard self.isLive else { return streams.errors.write(line + "\n") }
        let columns = Terminal.size(STDERR_FILENO).columns
        streams.errors.write(self.region.withLock { $0.draw(above: [line], frame: [], columns: columns) })
    }

    /// Replaces the live region at the bottom of the terminal; an empty frame removes it.
    func draw(_ frame: [String]) {
        guard self.isLive, let streams = self.streams else { return }
        let columns = Terminal.size(STDERR_FILENO).columns
        streams.errors.write(self.region.withLock { $0.draw(above: [], frame: frame, columns: columns) })
    }
}
