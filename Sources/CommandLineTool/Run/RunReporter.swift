// SPDX-License-Identifier: Apache-2.0
import Platform
import Synchronization
import TransferCore
import TransferEngine

/// Prints the events of a run to the terminal, to a log or as JSON.
///
/// Used by one thread, except ``hurry()``.
final class RunReporter: Sendable {
    private let display: GetPlan.Display
    private let printer: Aria2Printer?
    private let errors = OutputStream(STDERR_FILENO)
    private let objects: OutputStream?
    /// The output for the counts of a table, for a program.
    private let counts: OutputStream?
    private let text: ReportText
    /// Whether a live region is drawn.
    let isLive: Bool
    private let isUnicode: Bool
    private let region = Mutex(LiveRegion())
    private let schedule = Mutex(CountsSchedule())
    /// The lines about progress, if they replace the live region.
    private let progress: Mutex<ProgressLines>?

    init(_ plan: GetPlan) {
        let isTerminal = Terminal.isInteractive(STDERR_FILENO)
        self.display = plan.display
        self.printer = plan.printer
        self.isUnicode = Terminal.isUnicode
        self.isLive = plan.printer?.isLive ?? isTerminal && plan.display == .text && plan.drawsProgress
        self.objects = plan.display == .json ? OutputStream(plan.toStandardOutput ? STDERR_FILENO : STDOUT_FILENO) : nil
        // The counts of a table are lines about progress, too.
        let hasLines =
            plan.display == .text && plan.drawsProgress && !isTerminal && !plan.printsCounts && plan.printer == nil
        self.progress = hasLines ? Mutex(ProgressLines()) : nil
        self.counts = plan.printsCounts ? self.objects ?? OutputStream(STDOUT_FILENO) : nil
        self.text = ReportText(
            verbose: plan.verbose && plan.display == .text,
            quiet: plan.display != .text,
            colour: isTerminal && Terminal.allowsColour,
            algorithm: plan.options.reportDigest,
            asciiOnly: !self.isUnicode,
            onlyExamines: plan.onlyExamines,
            outageTimeout: plan.options.outageTimeout
        )
    }

    /// Whether the reader of the JSON objects has closed the stream.
    var isBroken: Bool { self.objects?.isBroken ?? false }

    /// Whether the progress of files is shown.
    var showsProgress: Bool { self.isLive || self.progress != nil }

    /// Stops waiting for readers that accept no output, because the run is stopping.
    func hurry() {
        self.errors.hurry()
        self.printer?.hurry()
        self.objects?.hurry()
        self.counts?.hurry()
    }

    /// Prints the counts of a table for a program, if that is due.
    ///
    /// - Parameters:
    ///   - counts: The counts.
    ///   - time: A monotonic time in seconds.
    ///   - isLast: Whether the run has ended.
    func tell(_ counts: RowCounts, at time: Double, isLast: Bool = false) {
        guard let stream = self.counts,
            let line = self.schedule.withLock({ $0.line(counts, at: time, isLast: isLast) })
        else { return }
        stream.write(line + "\n")
    }

    /// Prints the events since the last call, and the progress.
    ///
    /// - Parameters:
    ///   - batch: The events.
    ///   - totals: The totals of the run.
    ///   - time: A monotonic time in seconds since the start of the run.
    func show(_ batch: EventMailbox.Batch, _ totals: ProgressFrame.Totals, at time: Double) {
        if let printer { return printer.show(batch, totals) }
        if let objects = self.objects {
            var lines = ""
            for report in batch.reports {
                if let line = JSONEvents.line(report, algorithm: self.text.algorithm) { lines += line + "\n" }
            }
            objects.write(lines)
            // Only objects are written to this standard error.
            if objects.descriptor == STDERR_FILENO { return }
        }
        let above = batch.reports.compactMap { self.text.line($0) }
        guard self.isLive else {
            let line = self.progress?
                .withLock { lines in
                    lines.line(at: time) {
                        totals.rows?.lines.joined(separator: "; ")
                            ?? ProgressLines.Amounts(batch.model, totals).text
                    }
                }
            return self.write(above + [line].compactMap(\.self))
        }
        let size = Terminal.size(STDERR_FILENO)
        let frame = ProgressFrame(columns: size.columns, rows: size.rows, unicode: self.isUnicode)
        let lines = frame.lines(batch.model, totals)
        self.errors.write(self.region.withLock { $0.draw(above: above, frame: lines, columns: size.columns) })
    }

    /// Prints a message above the live region.
    func tell(_ line: String) {
        if let printer { return printer.tell(.notice, line) }
        guard self.objects?.descriptor != STDERR_FILENO else { return }
        guard self.isLive else { return self.write(["martlet: " + line]) }
        self.errors.write(
            self.region.withLock {
                $0.draw(above: ["martlet: " + line], frame: [], columns: Terminal.size(STDERR_FILENO).columns)
            }
        )
    }

    /// Removes the live region and prints the summary.
    func end(_ summary: Summary, status: Int32) {
        if let printer { return printer.end() }
        self.objects?.write(JSONEvents.end(summary, status: status) + "\n")
        if self.isLive {
            self.errors.write(
                self.region.withLock { $0.draw(above: [], frame: [], columns: Terminal.size(STDERR_FILENO).columns) }
            )
        }
        if self.display == .text { self.write(summary.lines()) }
    }

    private func write(_ lines: [String]) {
        guard !lines.isEmpty else { return }
        self.errors.write(lines.joined(separator: "\n") + "\n")
    }
}
