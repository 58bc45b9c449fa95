// SPDX-License-Identifier: Apache-2.0
/// The lines that show the progress of a run where no terminal can redraw them: one every ten seconds.
///
/// Pure value: times come in as arguments.
struct ProgressLines {
    /// The time between two lines, in seconds.
    static let interval = 10.0

    struct Amounts: Equatable {
        /// The number of files that are complete.
        var done = 0
        /// The number of all files, or `nil` if it is not known yet.
        var all: Int?
        /// The number of files that failed.
        var failed = 0
        /// The number of files that wait for their host, the network or the disk.
        var held = 0
        /// The number of bytes that were transferred.
        var bytes: Int64 = 0
        /// The number of bytes that will have been, or `nil` if it is not known.
        var total: Int64?
        /// The rate in bytes per second.
        var rate: Double = 0

        /// The text: files, bytes, rate and the time left.
        var text: String {
            var parts = [
                "\(self.done)\(self.all.map { "/\($0)" } ?? "") \(self.all ?? self.done == 1 ? "file" : "files")"
            ]
            if self.failed > 0 { parts.append("\(self.failed) failed") }
            if self.held > 0 { parts.append("\(self.held) held") }
            parts.append(Quantity.bytes(self.bytes, of: self.total))
            if let percent = Quantity.percent(self.bytes, of: self.total) { parts.append("\(percent)%") }
            parts.append(Quantity.rate(self.rate))
            if let total = self.total, self.rate > 0, total > self.bytes {
                parts.append(Quantity.time(Double(total - self.bytes) / self.rate) + " left")
            }
            return parts.joined(separator: ", ")
        }
    }

    private var next = Self.interval

    /// Returns the line to print now, or `nil`.
    ///
    /// - Parameters:
    ///   - time: A monotonic time in seconds since the start.
    ///   - text: Returns what the line shows; called only if it is due.
    /// - Returns: The line, without its end.
    mutating func line(at time: Double, _ text: () -> String) -> String? {
        guard time >= self.next else { return nil }
        // After a pause of the process, the next line is not due at once.
        self.next = time + Self.interval
        return "progress: " + text()
    }
}

extension ProgressLines.Amounts {
    /// The amounts of a run.
    init(_ model: RunModel, _ totals: ProgressFrame.Totals) {
        self.done = model.finished + model.skipped
        self.failed = model.failed
        self.held = totals.held
        self.rate = totals.rate
        let all = self.done + model.failed + model.cancelled + model.rows.count + max(0, totals.waiting)
        self.all = totals.complete ? all : nil
        if all == 1, totals.complete, let row = model.rows.first {
            // With the bytes of earlier runs, as the file has them.
            self.bytes = row.bytes
            self.total = row.total
            return
        }
        self.bytes = totals.received
        guard totals.complete, totals.waiting == 0 else { return }
        var left: Int64 = 0
        for row in model.rows {
            guard let total = row.total else { return }
            left = left.addingReportingOverflow(max(0, total - row.bytes)).partialValue
        }
        self.total = totals.received.addingReportingOverflow(left).partialValue
    }
}
