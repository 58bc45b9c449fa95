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
        let hasFault = !self.faults.met.isEmpty || self.faults.wasLimited
        switch command.ending {
        case .refused(let refusal):
            self.result.count("refused")
            if !hasFault { self.result.fail("a run is refused without a reason: \(refusal)") }
        case .failed(let error):
            self.result.count("stopped: \(error.code)")
            if !hasFault { self.result.fail("a run stops without a reason: \(error.message)") }
        case .complete(let summary):
            self.result.count("completed")
            if summary.isTableIncomplete, !hasFault { self.result.fail("the table is said to be incomplete") }
        case nil: self.result.fail("a process exits without an end")
        }
    }

    /// Judges the counts of the run that completed the report.
    func judge(_ summary: DatasetSummary) {
        if summary.rows != Int64(self.table.rows.count) {
            self.result.fail("the run has counted \(summary.rows) of \(self.table.rows.count) rows")
        }
    }

    // MARK: The report

    /// Judges the lines of the report, and what they say about shards and files.
    ///
    /// - Parameter isComplete: Whether every row must be there.
    func judgeReport(isComplete: Bool) {
        var bytes = self.disk.contents(Self.report) ?? []
        // Zeros are left by a loss of power, and removed by the next run.
        if !isComplete { bytes = Array(bytes.prefix { $0 != 0 }) }
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        let rest = lines.popLast() ?? []
        if isComplete, !rest.isEmpty { self.result.fail("the report ends in the middle of a line") }
        var seen: Set<Int64> = []
        var inShards: [String: Set<Int64>] = [:]
        for line in lines {
            guard let json = try? JSON(parsing: Array(line)), let number = json["row"]?.integer else {
                self.result.fail(
                    "the report has a line that is none: \(String(decoding: line.prefix(100), as: UTF8.self))"
                )
                continue
            }
            guard seen.insert(number).inserted else {
                self.result.fail("row \(number) is in the report twice")
                continue
            }
            guard self.table.rows.indices.contains(Int(number)) else {
                self.result.fail("row \(number) is in the report, and not in the table")
                continue
            }
            self.judge(json, of: self.table.rows[Int(number)], isComplete: isComplete)
            if let shard = json["shard"]?.string { inShards[shard, default: []].insert(number) }
        }
        if isComplete {
            for row in self.table.rows where !seen.contains(row.number) {
                self.result.fail("row \(row.number) is not in the complete report")
            }
        }
        if self.writesShards { self.judgeShards(inShards, isComplete: isComplete) }
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
        guard item.nature == .there || item.nature == .moved else {
            return self.result.fail("row \(row.number) is said to be done, and its item is \(item.nature.rawValue)")
        }
        let path = "\(Self.files)/\(line["name"]?.string ?? "")"
        if !self.writesShards, self.powerLosses > 0, !self.options.durable {
            // Documented: a loss of power may destroy an unsynced file, also before its line is written.
            return
        }
        if line["bytes"]?.integer != item.content.length {
            self.result.fail("row \(row.number) is said to have \(line["bytes"]?.text ?? "no") bytes")
        }
        if line["sha256"]?.string != Hexadecimal.encode(item.content.sha256) {
            self.result.fail("row \(row.number) has a wrong digest: \(line["sha256"]?.text ?? "none")")
        }
        if self.writesShards {
            self.judgePlace(line, of: row, item)
        } else if !item.content.equals(self.disk.contents(path) ?? []) {
            self.result.fail("row \(row.number) is said to be done, and \(path) is not its content")
        }
    }

    private func judgePlace(_ line: JSON, of row: DatasetTable.Row, _ item: DatasetSite.Item) {
        guard let shard = line["shard"]?.string, let offset = line["offset"]?.integer else {
            return self.result.fail("row \(row.number) is said to be done, and is in no shard")
        }
        guard let bytes = self.disk.contents("\(Self.shards)/\(shard)") else {
            return self.result.fail("row \(row.number) is said to be in \(shard), which does not exist")
        }
        let end = Int(offset) + item.content.bytes.count
        if offset < 0 || end > bytes.count || Array(bytes[Int(offset)..<end]) != item.content.bytes {
            self.result.fail("row \(row.number) is said to be at \(offset) of \(shard), and is not there")
        }
    }

    // MARK: Shards

    /// Judges the archives: each is whole, has whole samples, and exactly the rows that the report names.
    private func judgeShards(_ reported: [String: Set<Int64>], isComplete: Bool) {
        let names = self.disk.names(inDirectory: Self.shards)
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
            guard let bytes = self.disk.contents("\(Self.shards)/\(name)"),
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
            if Array(bytes[content.range]) != self.site.items[item].content.bytes {
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
        let hasDiskFault = !self.faults.met.isEmpty || self.faults.wasLimited
        if code == "filtered-size" {
            return self.site.items[number].content.length > (self.order.filter.maximum ?? .max)
        }
        guard let known = TransferFailure.Code(rawValue: code) else { return false }
        switch known {
        case .notFound: return statuses.contains(404)
        case .authentication: return statuses.contains(401)
        case .badResponse: return statuses.contains { $0 >= 400 } || met.contains(.malformed)
        // Of the item, or of its host, whose errors are an outage.
        case .overloaded: return self.site.statuses.values.contains { $0.contains(429) || $0.contains { $0 >= 500 } }
        case .checksumMismatch: return row.checksum == false
        case .timeout:
            return met.contains(.connectTimeout) || !self.site.used.isDisjoint(with: [.silent, .stalls, .drips])
        case .nameResolution: return met.contains(.nameResolution)
        case .connectionRefused: return met.contains(.refused)
        case .hostUnreachable: return met.contains(.unreachable)
        case .connectionReset: return met.contains(.reset)
        case .network: return !met.isDisjoint(with: [.connect, .broken, .truncated, .localResource, .reset])
        case .fileIO, .cannotOpen, .cannotCreate, .cannotCreateDirectory, .noSpace: return hasDiskFault
        default: return false
        }
    }
}
