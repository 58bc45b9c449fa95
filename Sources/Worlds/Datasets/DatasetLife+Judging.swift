// SPDX-License-Identifier: Apache-2.0
import Crypto
import Datasets
import Platform
import TransferCore
import TransferEngine

/// The judge of a dataset world.
extension DatasetLife {
    // MARK: The end of a process

    func judgeExit(of command: DatasetCommand) {
        let number = command.process.number
        let (open, locks) = (self.disk.openDescriptors(of: number), self.disk.locks(of: number))
        if open > 0 || locks > 0 {
            self.result.fail("process \(number) has \(open) open descriptors and \(locks) locks at its end")
        }
        let hasFault = !self.faults.met.isEmpty || self.faults.wasLimited || !self.hands.met.isEmpty
        switch command.ending {
        case .refused(let refusal):
            self.result.count("refused")
            if !hasFault { self.result.fail("a run is refused without a reason: \(refusal)") }
        case .failed(let error, let summary):
            self.result.count("stopped: \(error.code)")
            if !hasFault { self.result.fail("a run stops without a reason: \(error.message)") }
            self.judgeCounts(summary, self.report(isComplete: false), isExact: false, wasStopped: command.wasStopped)
        case .complete(let summary):
            self.result.count("completed")
            if summary.isTableIncomplete, !hasFault { self.result.fail("the table is said to be incomplete") }
            if summary.unfinished != 0, !command.wasStopped {
                self.result.fail("a run has ended with \(summary.unfinished) unfinished rows, and nothing stopped it")
            }
            self.judgeCounts(summary, self.report(isComplete: true), isExact: true, wasStopped: command.wasStopped)
        case nil: self.result.fail("a process exits without an end")
        }
    }

    // MARK: The report

    /// Reads the report.
    func report(isComplete: Bool) -> DatasetReport {
        DatasetReport(self.disk.contents(self.reportPath), isComplete: isComplete)
    }

    /// Judges the lines of the report, and what they say about shards and files.
    ///
    /// - Parameter isComplete: Whether every row must be there.
    /// - Returns: The report.
    @discardableResult
    func judgeReport(isComplete: Bool) -> DatasetReport {
        let report = self.report(isComplete: isComplete)
        for problem in report.problems { self.result.fail(problem) }
        var inShards: [String: Set<Int64>] = [:]
        for (number, line) in report.lines.sorted(by: { $0.key < $1.key }) {
            guard self.wanted.contains(where: { $0.number == number }) else {
                self.result.fail("row \(number) is in the report, and not in the table")
                continue
            }
            self.judge(line, of: self.table.rows[Int(number)], isComplete: isComplete)
            if let shard = line["shard"]?.string { inShards[shard, default: []].insert(number) }
        }
        if isComplete {
            for row in self.wanted where report.lines[row.number] == nil {
                self.result.fail("row \(row.number) is not in the complete report")
            }
        }
        if self.writesShards { self.judgeShards(inShards, isComplete: isComplete) }
        return report
    }

    private func judge(_ line: JSON, of row: DatasetTable.Row, isComplete: Bool) {
        if let code = line["error_code"]?.string {
            if isComplete { self.result.count("failed: \(code)") }
            if !self.isTrue(code, of: row) {
                self.result.fail(
                    "row \(row.number) is said to have failed with \(code): \(line["message"]?.string ?? "")"
                )
            }
            return
        }
        if isComplete { self.result.count("done") }
        guard let number = row.item, row.fault == nil, row.checksum != false else {
            return self.result.fail("row \(row.number) is said to be done, and cannot be")
        }
        let item = self.site.items[number]
        guard item.hasContent else {
            return self.result.fail("row \(row.number) is said to be done, and its item is \(item.nature.rawValue)")
        }
        if !self.writesShards, self.powerLosses > 0, !self.options.durable {
            // Documented: a loss of power may destroy an unsynced file, also before its line is written.
            return
        }
        guard let bytes = self.content(line, of: row) else { return }
        if line["bytes"]?.integer != Int64(bytes.count) {
            self.result.fail("row \(row.number) is said to have \(line["bytes"]?.text ?? "no") bytes")
        }
        let versions = item.contents.indices.filter { item.contents[$0].equals(bytes) }
        let digest = versions.first.map { item.contents[$0].sha256 } ?? Array(SHA256.hash(data: bytes))
        if line["sha256"]?.string != Hexadecimal.encode(digest) {
            self.result.fail("row \(row.number) has a wrong digest: \(line["sha256"]?.text ?? "none")")
        }
        self.judgeVersion(line, of: row, item, versions)
    }

    /// The bytes of a row that is done; `nil` if they are not where the report says.
    private func content(_ line: JSON, of row: DatasetTable.Row) -> [UInt8]? {
        guard self.writesShards else {
            let path = "\(Self.files)/\(line["name"]?.string ?? "")"
            if self.hands.removed.contains(path) { return nil }
            guard let bytes = self.disk.contents(path) else {
                self.result.fail("row \(row.number) is said to be in \(path), which does not exist")
                return nil
            }
            return bytes
        }
        guard let shard = line["shard"]?.string, let offset = line["offset"]?.integer,
            let count = line["bytes"]?.integer
        else {
            self.result.fail("row \(row.number) is said to be done, and is in no shard")
            return nil
        }
        let path = "\(self.shardsPath)/\(shard)"
        if self.hands.removed.contains(path) { return nil }
        guard let bytes = self.disk.contents(path) else {
            self.result.fail("row \(row.number) is said to be in \(shard), which does not exist")
            return nil
        }
        guard offset >= 0, count >= 0, offset + count <= bytes.count else {
            self.result.fail("row \(row.number) is said to be at \(offset) of \(shard), and is not there")
            return nil
        }
        return Array(bytes[Int(offset)..<Int(offset + count)])
    }

    /// Judges that the bytes of a row are one version, and what the report says of it.
    private func judgeVersion(_ line: JSON, of row: DatasetTable.Row, _ item: DatasetItem, _ versions: [Int]) {
        guard !versions.isEmpty else {
            if item.isLiar, row.checksum == nil { return self.result.count("mixed by a liar") }
            return self.result.fail("row \(row.number) is said to be done, and its bytes are of no version")
        }
        if row.checksum == true, !versions.contains(0) {
            self.result.fail("row \(row.number) is said to be done, and has another digest than the table")
        }
        let tag = line["etag"]?.string
        if tag != nil, !versions.contains(where: { item.tag(of: $0) == tag }) {
            self.result.fail("row \(row.number) has the ETag \(tag ?? ""), and the bytes of version \(versions)")
        }
    }

    // MARK: Shards

    /// Judges the archives: each is whole, has whole samples, and exactly the rows that the report names.
    private func judgeShards(_ reported: [String: Set<Int64>], isComplete: Bool) {
        let directory = self.shardsPath
        let names = self.disk.names(inDirectory: directory).filter { self.hands.foreign["\(directory)/\($0)"] == nil }
        var reported = reported
        // The shards of the first report are in the same directory.
        if let first, self.retry?.isElsewhere == false {
            for (number, line) in first.lines {
                if let shard = line["shard"]?.string { reported[shard, default: []].insert(number) }
            }
        }
        if isComplete, let left = names.first(where: { $0.hasSuffix(".part") }) {
            self.result.fail("\(left) is left although the run is complete")
        }
        let shards = names.filter { $0.hasSuffix(".tar") }
        for name in shards {
            let named = reported[name] ?? []
            // Until the next run, the last one of a killed process may be in no report.
            if named.isEmpty, !isComplete, name == shards.last { continue }
            // Nor may the last of its rows be, if the power was lost between its name and its lines; the next run removes
            // them, and while it does, they follow the end of the archive.
            let mayHaveRest = !isComplete && name == shards.last && self.powerLosses > 0
            guard let bytes = self.disk.contents("\(directory)/\(name)"),
                let members = TarWalk.members(bytes, most: mayHaveRest ? 2 * named.count : nil)
            else {
                self.result.fail("\(name) is not a whole archive")
                continue
            }
            let rows = self.rows(of: members, in: bytes, name)
            if rows.count != Set(rows).count { self.result.fail("\(name) has a row twice: \(rows)") }
            if Set(rows) != named {
                self.result.fail("\(name) has the rows \(rows), and the report names \(named.sorted())")
            }
        }
    }

    private func rows(of members: [TarWalk.Member], in bytes: [UInt8], _ shard: String) -> [Int64] {
        var rows: [Int64] = []
        if Set(members.map(\.name)).count != members.count {
            self.result.fail("\(shard) has two members of one name")
        }
        guard members.count.isMultiple(of: 2) else {
            self.result.fail("\(shard) has half a sample")
            return []
        }
        for index in stride(from: 0, to: members.count, by: 2) {
            let (content, facts) = (members[index], members[index + 1])
            let name = content.name.split(separator: ".").first ?? ""
            guard facts.name == "\(name).json", let json = try? JSON(parsing: Array(bytes[facts.range])),
                let number = json["row"]?.integer, self.table.rows.indices.contains(Int(number)),
                let item = self.table.rows[Int(number)].item
            else {
                self.result.fail("\(shard) has \(content.name), which is no sample")
                continue
            }
            let sample = Array(bytes[content.range])
            if !self.site.items[item].isLiar, !self.site.items[item].contents.contains(where: { $0.equals(sample) }) {
                self.result.fail("\(shard) has \(content.name), which is not the content of row \(number)")
            }
            rows.append(number)
        }
        return rows
    }

    // MARK: Reasons

    /// Whether something happened in the world that the code of a failed row names.
    private func isTrue(_ code: String, of row: DatasetTable.Row) -> Bool {
        guard row.fault == nil, let number = row.item else { return code == DatasetRun.badRow }
        let (met, statuses) = (self.network.met, self.site.statuses[number] ?? [])
        let hasDiskFault = !self.faults.met.isEmpty || self.faults.wasLimited || !self.hands.met.isEmpty
        let isChanging = self.site.items[number].contents.count > 1
        if code == "filtered-size" {
            return self.site.items[number].greatestLength > (self.order.filter.maximum ?? .max)
        }
        guard let known = TransferFailure.Code(rawValue: code) else { return false }
        switch known {
        case .notFound: return statuses.contains(404)
        case .authentication: return statuses.contains(401)
        case .badResponse: return isChanging || statuses.contains { $0 >= 400 } || met.contains(.malformed)
        // Of the item, or of its host, whose errors are an outage.
        case .overloaded: return self.site.statuses.values.contains { $0.contains(429) || $0.contains { $0 >= 500 } }
        case .checksumMismatch: return row.checksum == false || row.checksum == true && isChanging
        case .timeout:
            return met.contains(.connectTimeout) || !self.site.used.isDisjoint(with: [.silent, .stalls, .drips])
        case .nameResolution: return met.contains(.nameResolution)
        case .connectionRefused: return met.contains(.refused)
        case .hostUnreachable: return met.contains(.unreachable)
        case .connectionReset: return met.contains(.reset)
        case .network: return !met.isDisjoint(with: [.connect, .broken, .truncated, .localResource, .reset])
        // What a receiver has taken cannot be taken back from it.
        case .cannotResume where isChanging: return true
        case .fileExists, .cannotResume, .inUse: return !self.writesShards && !self.hands.foreign.isEmpty
        case .fileIO, .cannotOpen, .cannotCreate, .cannotCreateDirectory, .noSpace: return hasDiskFault
        default: return false
        }
    }
}
