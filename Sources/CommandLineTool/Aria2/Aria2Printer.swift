// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import Platform
import Synchronization
import TransferCore
import TransferEngine

/// Prints the events of a run as aria2 does.
///
/// Used by one thread, except ``hurry()``.
final class Aria2Printer: Sendable {
    private struct State {
        var region = LiveRegion()
        var results: Aria2Results
        var lastReadout = -1.0
        var lastSummary = 0.0
        var rows: [RunModel.Row] = []
        /// Whether lines of a list could not be used.
        var hasProblems = false
    }

    private let output: Aria2Output
    private let stream: OutputStream
    private let log: OutputStream?
    private let text: Aria2Text
    private let session: Aria2Session?
    private let hooks: Aria2Hooks
    private let state: Mutex<State>
    private let start = ContinuousClock.now
    /// Whether a line is redrawn at the bottom of a terminal.
    let isLive: Bool

    /// Creates a printer.
    ///
    /// - Parameters:
    ///   - output: The settings.
    ///   - session: The record of unfinished files, or `nil`.
    ///   - hooks: The programs to start on events.
    /// - Throws: ``Aria2Error`` if the log file cannot be opened.
    init(
        _ output: Aria2Output,
        session: Aria2Session? = nil,
        hooks: Aria2Hooks = Aria2Hooks(Aria2Settings())
    ) throws(Aria2Error) {
        self.output = output
        self.hooks = hooks
        self.session = session
        self.stream = OutputStream(output.descriptor)
        self.text = Aria2Text(isHumanReadable: output.isHumanReadable)
        self.isLive = !output.isQuiet && output.showsReadout && Terminal.isInteractive(output.descriptor)
        self.state = Mutex(State(results: Aria2Results(limit: output.mostResults)))
        switch output.log {
        case nil: self.log = nil
        case "-": self.log = OutputStream(STDOUT_FILENO)
        case let path?:
            let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
            guard file >= 0 else {
                throw .exception(
                    "Failed to open the file \(DisplayText.clean(path)), cause: \(String(cString: strerror(errno)))"
                )
            }
            self.log = OutputStream(file)
        }
    }

    /// Whether the events of progress are needed.
    var wantsProgress: Bool { !self.output.isQuiet && (self.output.showsReadout || self.output.summaryInterval > 0) }

    /// Stops waiting for readers that accept no output, because the run is stopping.
    func hurry() {
        self.stream.hurry()
        self.log?.hurry()
    }

    // MARK: Messages

    func tell(_ level: Aria2Output.Level, _ message: String) {
        let message = message.split(separator: "\n", omittingEmptySubsequences: false)
            .map { DisplayText.clean(String($0)) }.joined(separator: "\n")
        if level >= self.output.logLevel {
            self.log?.write("\(Self.time("%Y-%m-%d %H:%M:%S")) [\(level.word)] \(message)\n")
        }
        guard !self.output.isQuiet, level >= self.output.level else { return }
        let line = Aria2Text.line(level, message, at: Self.time("%m/%d %H:%M:%S"), isColoured: self.output.isColoured)
        self.write(line.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
    }

    /// The local time.
    private static func time(_ format: String) -> String {
        var now = Platform.time(nil)
        var parts = tm()
        localtime_r(&now, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            let count = strftime(buffer.baseAddress, buffer.count, format, &parts)
            return String(decoding: buffer.prefix(count).lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    private func write(_ lines: [String]) {
        guard !lines.isEmpty else { return }
        guard self.isLive else { return self.stream.write(lines.joined(separator: "\n") + "\n") }
        let columns = Terminal.size(self.output.descriptor).columns
        self.stream.write(self.state.withLock { $0.region.draw(above: lines, frame: [], columns: columns) })
    }

    // MARK: Events

    /// Prints the events since the last call.
    func show(_ batch: EventMailbox.Batch, _ totals: ProgressFrame.Totals) {
        for report in batch.reports { self.take(report) }
        self.state.withLock { $0.rows = batch.model.rows }
        guard !self.output.isQuiet else { return }
        let now = Quantity.seconds(ContinuousClock.now - self.start)
        let isDue = self.state.withLock { state in
            guard self.output.summaryInterval > 0, now - state.lastSummary >= Double(self.output.summaryInterval) else {
                return false
            }
            state.lastSummary = now
            return true
        }
        if isDue, !batch.model.rows.isEmpty { self.write(self.summary(batch.model)) }
        guard self.output.showsReadout else { return }
        let line = self.text.readout(batch.model.rows, rate: totals.rate)
        if self.isLive {
            let columns = Terminal.size(self.output.descriptor).columns
            let frame = line.isEmpty ? [] : [DisplayText.start(of: line, within: max(1, columns - 1))]
            return self.stream.write(self.state.withLock { $0.region.draw(above: [], frame: frame, columns: columns) })
        }
        // Once per second, as programs that read it expect; not before the first second has passed.
        let isReadoutDue = self.state.withLock { state in
            guard now >= 1, now - state.lastReadout >= 1 else { return false }
            state.lastReadout = now
            return true
        }
        if isReadoutDue, !line.isEmpty { self.stream.write(line + "\n") }
    }

    private func summary(_ model: RunModel) -> [String] {
        var lines = [" *** Download Progress Summary as of \(Self.time("%a %b %d %H:%M:%S %Y")) *** "]
        lines.append(String(repeating: "=", count: 79))
        for row in model.rows {
            lines.append(self.text.progress(row))
            lines.append("FILE: \(DisplayText.clean(row.path.isEmpty ? row.name : row.path))")
            lines.append(String(repeating: "-", count: 79))
        }
        return lines + [""]
    }

    private func take(_ report: EventMailbox.Report) {
        let event = report.event
        let gid = event.userInfo as? GID
        switch event.kind {
        case .finished(let completion):
            if let gid { self.session?.finished(gid) }
            self.finished(completion, report, gid)
        case .failed(let failure):
            self.failed(failure, report, gid)
        case .warning(let text): self.tell(.warn, text)
        case .note(let text): self.tell(event.id == nil ? .warn : .info, text)
        case .held(let hold): self.tell(.warn, ReportText(quiet: false).line(report) ?? hold.place)
        case .retrying(let failure, let attempt, _): self.tell(.info, "attempt \(attempt) failed: \(failure.message)")
        case .started(let path): self.start([.start], gid, path: path)
        case .response, .progress, .paused, .cancelled, .released, .drained, .missed: break
        }
    }

    private func start(_ hooks: [Aria2Hook], _ gid: GID?, path: String) {
        guard let gid, let problem = self.hooks.run(hooks, gid, path: path) else { return }
        self.tell(.error, "Could not execute user command: \(problem)")
    }

    private func finished(_ completion: TransferEvent.Completion, _ report: EventMailbox.Report, _ gid: GID?) {
        let path = DisplayText.clean(report.path.isEmpty ? report.event.url : report.path)
        let id = gid?.description ?? ""
        if completion.skipped { self.tell(.notice, "GID#\(id) - Download has already completed: \(path)") }
        self.tell(.notice, "Download complete: \(path)")
        self.start([.complete, .stop], gid, path: report.path)
        let seconds = Quantity.seconds(completion.duration)
        let rate: Double? =
            completion.skipped
            ? 0 : seconds > 0 && completion.received > 0 ? Double(completion.received) / seconds : nil
        self.add(.init(id: String(id.prefix(6)), state: .complete, rate: rate, percent: 100, place: path))
    }

    private func failed(_ failure: TransferFailure, _ report: EventMailbox.Report, _ gid: GID?) {
        // A line of a list that did not become a transfer.
        guard let gid else {
            self.state.withLock { $0.hasProblems = true }
            let place = report.name.isEmpty ? "" : "\(report.name): "
            return self.tell(.error, place + failure.message)
        }
        let url = DisplayText.clean(report.event.url)
        self.tell(.error, "GID#\(gid) - " + Aria2Text.failure(failure, url: url))
        let path = DisplayText.clean(report.path)
        self.tell(.notice, "Download GID#\(gid) not complete: \(path)")
        self.start([.error, .stop], gid, path: report.path)
        self.add(
            .init(
                id: String(gid.description.prefix(6)),
                state: .failed,
                rate: nil,
                percent: nil,
                place: path.isEmpty ? url : path
            )
        )
    }

    private func add(_ row: Aria2Results.Row) { self.state.withLock { $0.results.add(row) } }

    // MARK: The end

    /// Prints the table of results.
    func end() {
        let running = self.state.withLock { $0.rows }
        for row in running {
            let id = row.gid?.description ?? ""
            let place = DisplayText.clean(row.path.isEmpty ? row.name : row.path)
            self.tell(.notice, "Download GID#\(id) not complete: \(place)")
            self.start([.stop], row.gid, path: row.path)
            let percent = Quantity.percent(row.bytes, of: row.total)
            self.add(
                .init(id: String(id.prefix(6)), state: .unfinished, rate: row.rate, percent: percent, place: place)
            )
        }
        guard !self.output.isQuiet else { return }
        let (results, hasFailures, hasProblems) = self.state.withLock {
            ($0.results, $0.results.hasFailures, $0.hasProblems)
        }
        var lines: [String] = []
        if results.isEmpty {
            if !hasProblems { self.write(["No files to download."]) }
        } else if self.output.results != .hide {
            lines = results.lines(self.text, isFull: self.output.results == .full)
        }
        if hasFailures, self.output.results != .hide {
            lines += [
                "", "aria2c (martlet) will resume download if the transfer is restarted.",
                "If there are any errors, then see the log file. See '-l' option in help/man page for details.",
            ]
        }
        self.write(lines)
        if self.isLive {
            let columns = Terminal.size(self.output.descriptor).columns
            self.stream.write(self.state.withLock { $0.region.draw(above: [], frame: [], columns: columns) })
        }
    }
}
