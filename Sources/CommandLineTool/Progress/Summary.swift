import TransferEngine

/// What a run came to.
struct Summary: Sendable, Equatable {
    /// Files that were fetched.
    var finished = 0
    /// Files that were there already.
    var skipped = 0
    /// Files that are not there.
    var failed = 0
    /// Files that were begun or waited when the run ended.
    var unfinished = 0
    /// Bytes received.
    var received: Int64 = 0
    /// The time of the run.
    var elapsed: Duration = .zero
    /// The first failures.
    var failures: [RunModel.Failure] = []

    /// The mean rate in bytes a second.
    var rate: Double {
        let seconds = Quantity.seconds(self.elapsed)
        return seconds > 0 ? Double(self.received) / seconds : 0
    }

    /// The summary in lines.
    func lines() -> [String] {
        var counts = ["\(self.finished) finished", "\(self.skipped) skipped", "\(self.failed) failed"]
        if self.unfinished > 0 { counts.append("\(self.unfinished) not finished") }
        var lines = [
            counts.joined(separator: ", ")
                + "; \(Quantity.bytes(self.received)) in \(Quantity.elapsed(self.elapsed)), \(Quantity.rate(self.rate))"
        ]
        // An only file's failure stands in the line above.
        if self.failed == 1, self.finished + self.skipped + self.unfinished == 0 { return lines }
        for failure in self.failures { lines.append("  \(failure.name): \(failure.reason)") }
        let more = self.failed - self.failures.count
        if more > 0, !self.failures.isEmpty { lines.append("  and \(more) more") }
        return lines
    }
}
