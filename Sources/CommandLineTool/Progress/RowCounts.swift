// SPDX-License-Identifier: Apache-2.0
import Datasets

/// The counts of the rows of a table during a run.
struct RowCounts: Equatable {
    /// The counts of the run.
    var summary = DatasetSummary()
    /// The number of bytes received.
    var received: Int64 = 0
    /// The rate over the last few seconds, in bytes per second.
    var rate: Double = 0
    /// The rate over the last few seconds, in rows per second.
    var rowRate: Double = 0
    /// Whether the table was read to its end.
    var isComplete = true

    /// The counts as text: one line, and one for the reasons of failures.
    var lines: [String] {
        let summary = self.summary
        var counts = ["\(summary.rows)\(self.isComplete ? "" : "+") rows: \(summary.done) done"]
        if summary.stored > 0 { counts.append("\(summary.stored) in an open shard") }
        if summary.failures > 0 { counts.append("\(summary.failures) failed") }
        if summary.reportedBefore > 0 { counts.append("\(summary.reportedBefore) reported before") }
        let first = [
            counts.joined(separator: ", "), "\(Self.rows(self.rowRate)) rows/s", Quantity.bytes(self.received),
            Quantity.rate(self.rate),
        ]
        let reasons = summary.reasons.map { "\($0.code) \($0.count)" }
        return [first.joined(separator: "  ")] + (reasons.isEmpty ? [] : ["failed: " + reasons.joined(separator: ", ")])
    }

    private static func rows(_ rate: Double) -> String {
        guard rate.isFinite, rate > 0 else { return "0" }
        if rate >= 9.95 { return "\(Int(min(rate.rounded(), 1e15)))" }
        let tenths = Int((rate * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

/// Decides when the counts are printed for a program.
struct CountsSchedule {
    /// The least time between two lines, in seconds.
    static let interval = 1.0

    private var printed: (counts: RowCounts, time: Double)?

    /// Returns the line to print now, or `nil`.
    ///
    /// - Parameters:
    ///   - counts: The counts.
    ///   - time: A monotonic time in seconds.
    ///   - isLast: Whether the run has ended.
    /// - Returns: A line of JSON, without its end.
    mutating func line(_ counts: RowCounts, at time: Double, isLast: Bool = false) -> String? {
        if !isLast, let printed = self.printed, time - printed.time < Self.interval || printed.counts == counts {
            return nil
        }
        self.printed = (counts, time)
        return JSONEvents.counts(counts)
    }
}
