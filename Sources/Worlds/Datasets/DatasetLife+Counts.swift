// SPDX-License-Identifier: Apache-2.0
import Datasets
import TransferCore

/// The judge of what a run counts, and of what it requests.
extension DatasetLife {
    /// Judges the counts of a run that has come to its end, by the lines that it has added to the report.
    ///
    /// - Parameters:
    ///   - summary: The counts.
    ///   - report: The report now.
    ///   - isExact: Whether all lines were written. If that failed, the run has counted more than it could write.
    ///   - wasStopped: Whether the user has stopped it.
    func judgeCounts(_ summary: DatasetSummary, _ report: DatasetReport, isExact: Bool, wasStopped: Bool) {
        func judge(_ name: String, _ counted: Int64, _ happened: Int64, isExact: Bool) {
            guard isExact ? counted != happened : counted < happened else { return }
            self.result.fail("a run has counted \(counted) rows as \(name), and \(happened) are")
        }
        let failed = { (counts: [String?: Int64]) in counts.filter { $0.key != nil } }
        var counts = report.counts(without: self.before.rows)
        // A run that stops does not wait for the shard that is being closed.
        if isExact || !self.writesShards { judge("done", summary.done, counts[nil] ?? 0, isExact: isExact) }
        counts[nil] = nil
        for code in Set(counts.keys.compactMap(\.self)).union(summary.failed.keys).sorted() {
            judge("failed with \(code)", summary.failed[code] ?? 0, counts[code] ?? 0, isExact: isExact)
        }
        judge("failed before", summary.failedBefore, failed(self.before.counts()).values.reduce(0, +), isExact: true)
        // Rows after the place at which the reading of a table ended are unknown.
        let isWhole = !summary.isTableIncomplete && isExact && !wasStopped
        let reported = Int64(self.before.lines.count)
        if isWhole || summary.reportedBefore > reported {
            judge("reported before", summary.reportedBefore, reported, isExact: true)
        }
        let rows = Int64(self.wanted.count)
        if isWhole && summary.unfinished == 0 || summary.rows > rows {
            judge("read", summary.rows, rows, isExact: true)
        }
        if isExact, summary.stored != 0 {
            self.result.fail("a run has ended with \(summary.stored) rows in an open shard")
        }
    }

    /// Whether a finished file is known to be that of a response: it has the record of its version, and the server keeps
    /// versions apart.
    var knowsFiles: Bool {
        self.disk.features.attributes
            && self.site.items.allSatisfy { $0.validators == .strong || $0.validators == .dated }
    }

    /// Judges the requests of a process, and the bytes that it has received: no row is fetched twice that nothing forces.
    func judgeTraffic(of process: Int) {
        // What an outage or a missing descriptor breaks is not counted by the server, and what the disk refuses is fetched
        // again.
        guard self.network.outages.isEmpty, self.network.shortageOneIn == 0, self.faults.met.isEmpty,
            !self.faults.wasLimited, self.hands.met.isEmpty, self.hands.foreign.isEmpty
        else { return }
        let traffic = self.site.traffic[process] ?? DatasetSite.Traffic()
        var (requests, bytes) = (0, Int64(0))
        for row in self.wanted where self.before.lines[row.number] == nil {
            guard row.fault == nil, let item = row.item.map({ self.site.items[$0] }) else { continue }
            requests += item.nature == .moved ? 2 : 1
            // A digest of the table shows only at the end that a part was of another version, or was damaged.
            let mayBeJoined = item.contents.count > 1 || !self.writesShards
            let times: Int64 = mayBeJoined && row.checksum != nil ? 2 : 1
            // The name of a row whose digest differs from the table's is free again: the next row of the URL asks about the
            // file of the first one.
            if item.contents.count > 1, row.checksum != nil { requests += 1 }
            if item.hasContent { bytes += times * item.greatestLength }
        }
        // A file that exists is asked about: one that an earlier run has finished and not reported, or that of another row
        // with the same URL where no attribute says so.
        let mayExist = !self.writesShards && (self.runs > 1 || !self.knowsFiles)
        // Each fault leads to one more attempt at most, which is redirected again if the item was moved. If the item has
        // changed meanwhile, the whole of the new version is refused, and a part requested whose beginning is compared.
        let mayChange = self.site.items.contains { $0.contents.count > 1 }
        let mostRequests = requests + (mayChange ? 4 : 2) * traffic.faults
        if traffic.requests > mostRequests, !mayExist {
            self.result.fail("process \(process) has sent \(traffic.requests) requests; \(mostRequests) are allowed")
        }
        self.result.count("bytes", Int(traffic.bytes))
        self.result.count("bytes needed", Int(bytes))
        self.result.count("bytes of faults", Int(traffic.lost))
        let mostBytes = Int64(Double(bytes) * 1.05) + traffic.lost
        if traffic.bytes > mostBytes, !mayExist || self.knowsFiles && self.powerLosses == 0 {
            self.result.fail("process \(process) has received \(traffic.bytes) bytes; \(mostBytes) are allowed")
        }
    }
}
