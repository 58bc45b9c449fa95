// SPDX-License-Identifier: Apache-2.0
/// Decides what happens with each row of a table, so that each one is reported once.
///
/// A row is read, fetched and reported. With shards, its content is stored first, and it is reported when its shard is
/// complete and durable. Rows that are in the report of an earlier run are not fetched again. A row that the end of the
/// program interrupts is in no report.
///
/// Pure value. Of rows that are reported it stores one bit each.
///
/// - Invariant: A row is reported at most once, here or in the report of an earlier run.
package struct DatasetMachine<Line: Sendable>: Sendable {
    /// The decision about a row that was read.
    package enum Admission: Sendable, Equatable {
        case fetch
        /// An earlier run has reported it.
        case reported
        /// The table has its number twice.
        case repeated
    }

    private enum Phase {
        case fetching
        case storing
        /// In an incomplete shard.
        case stored(Line)
    }

    private var reported: RowSet
    /// The rows that are being fetched or stored.
    private var active: [Int64: Phase] = [:]
    /// The counts so far.
    package private(set) var summary: DatasetSummary

    /// Creates a machine.
    ///
    /// - Parameter earlier: The rows in the report of earlier runs.
    package init(_ earlier: ReportFile.Contents = ReportFile.Contents()) {
        self.reported = earlier.reported
        self.summary = DatasetSummary()
        self.summary.failedBefore = earlier.failed
    }

    /// The number of rows that are being fetched or stored.
    package var activeCount: Int { self.active.count }

    /// A row was read from the table.
    package mutating func rowRead(_ number: Int64) -> Admission {
        guard self.active[number] == nil else { return .repeated }
        guard !self.reported.contains(number) else {
            self.summary.rows += 1
            self.summary.reportedBefore += 1
            return .reported
        }
        self.summary.rows += 1
        self.active[number] = .fetching
        return .fetch
    }

    /// A row failed, or cannot be fetched.
    ///
    /// - Returns: The line to report, or `nil` if the row is not being fetched.
    package mutating func failed(_ number: Int64, code: String, _ line: Line) -> Line? {
        switch self.active[number] {
        case .fetching, .storing: break
        // A late event.
        case .stored, nil: return nil
        }
        self.summary.failed[code, default: 0] += 1
        return self.report(number, line)
    }

    /// A row's file is complete.
    ///
    /// - Returns: The line to report, or `nil` if the row is not being fetched.
    package mutating func fetched(_ number: Int64, _ line: Line) -> Line? {
        guard case .fetching = self.active[number] else { return nil }
        self.summary.done += 1
        return self.report(number, line)
    }

    /// A row's content is complete and is to be stored in a shard.
    ///
    /// - Returns: Whether to store it.
    package mutating func contentReceived(_ number: Int64) -> Bool {
        guard case .fetching = self.active[number] else { return false }
        self.active[number] = .storing
        return true
    }

    /// A row's content is in a shard.
    ///
    /// - Parameters:
    ///   - number: The row.
    ///   - line: The line to report when the shard is complete.
    package mutating func stored(_ number: Int64, _ line: Line) {
        guard case .storing = self.active[number] else { return }
        self.active[number] = .stored(line)
        self.summary.stored += 1
    }

    /// A shard is complete and durable.
    ///
    /// - Returns: The lines to report, in the order of the rows.
    package mutating func shardClosed(_ numbers: [Int64]) -> [Line] {
        var lines: [Line] = []
        for number in numbers {
            guard case .stored(let line) = self.active[number] else { continue }
            self.summary.stored -= 1
            self.summary.done += 1
            lines.append(self.report(number, line))
        }
        return lines
    }

    /// The rest of the table cannot be read.
    package mutating func tableFailed() { self.summary.isTableIncomplete = true }

    /// The end of the run interrupted a row.
    package mutating func interrupted(_ number: Int64) {
        guard case .fetching = self.active[number] else { return }
        self.active[number] = nil
    }

    private mutating func report(_ number: Int64, _ line: Line) -> Line {
        self.active[number] = nil
        self.reported.insert(number)
        return line
    }
}

/// The counts of a run.
package struct DatasetSummary: Sendable, Equatable {
    /// The number of rows that were read.
    package var rows: Int64 = 0
    /// The number of rows that are done.
    package var done: Int64 = 0
    /// The number of rows in the open shard, which the end of the program loses.
    package var stored: Int64 = 0
    /// The number of rows that failed, by code.
    package var failed: [String: Int64] = [:]
    /// The number of rows that were in the report already.
    package var reportedBefore: Int64 = 0
    /// The number of failed rows that were in the report already.
    package var failedBefore: Int64 = 0
    /// Whether the table could not be read to its end.
    package var isTableIncomplete = false

    /// Creates counts of zero.
    package init() {}

    /// The number of rows that failed in this run.
    package var failures: Int64 { self.failed.values.reduce(0, +) }

    /// The number of rows that have ended in this run, also those in an incomplete shard.
    package var ended: Int64 { self.done + self.stored + self.failures }

    /// The codes of the failures, with the most frequent one first.
    package var reasons: [(code: String, count: Int64)] {
        self.failed.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { (code: $0.key, count: $0.value) }
    }

    /// The number of rows that were read, but are not reported.
    package var unfinished: Int64 { self.rows - self.done - self.failures - self.reportedBefore }
}
