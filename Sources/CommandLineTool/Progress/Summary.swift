// SPDX-License-Identifier: Apache-2.0
import TransferEngine

/// The totals of a run.
struct Summary: Sendable, Equatable {
    /// The number of files transferred.
    var finished = 0
    /// The number of files that were already present.
    var skipped = 0
    /// The number of these that were compared with the server's and are the same.
    var unchanged = 0
    /// The number of files that have the digest of the list of `--checksums-from`; `nil` without a list.
    var verified: Int?
    /// The number of files that failed.
    var failed = 0
    /// The number of files that were running or waiting when the run ended.
    var unfinished = 0
    /// The number of bytes received.
    var received: Int64 = 0
    /// The duration of the run.
    var elapsed: Duration = .zero
    /// The first failures.
    var failures: [RunModel.Failure] = []

    /// The lines about a table that replace those about files.
    var tableLines: [String] = []

    /// The mean rate in bytes per second.
    var rate: Double {
        let seconds = Quantity.seconds(self.elapsed)
        return seconds > 0 ? Double(self.received) / seconds : 0
    }

    /// The summary as lines of text.
    func lines() -> [String] {
        var counts = ["\(self.finished) finished"]
        if self.unchanged > 0 { counts.append("\(self.unchanged) unchanged") }
        counts += ["\(self.skipped - self.unchanged) skipped", "\(self.failed) failed"]
        if let verified { counts.append("\(verified) verified") }
        if self.unfinished > 0 { counts.append("\(self.unfinished) not finished") }
        var lines = [
            counts.joined(separator: ", ")
                + "; \(Quantity.bytes(self.received)) in \(Quantity.elapsed(self.elapsed)), \(Quantity.rate(self.rate))"
        ]
        if !self.tableLines.isEmpty { return self.tableLines + lines }
        // The failure of a single file was printed already.
        if self.failed == 1, self.finished + self.skipped + self.unfinished == 0 { return lines }
        for failure in self.failures { lines.append("  \(failure.name): \(failure.reason)") }
        let more = self.failed - self.failures.count
        if more > 0, !self.failures.isEmpty { lines.append("  and \(more) more") }
        return lines
    }
}
