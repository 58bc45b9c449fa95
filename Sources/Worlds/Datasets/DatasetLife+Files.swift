// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine

/// The judge of what is in the directories of a dataset.
extension DatasetLife {
    /// The files of others are as they were.
    func judgeForeignFiles() {
        for (path, bytes) in self.hands.foreign.sorted(by: { $0.key < $1.key })
        where self.disk.contents(path) != bytes {
            self.result.fail("\(path) was another program's, and was changed")
        }
    }

    /// After a complete run, nothing of ours is left but the dataset.
    func judgeLeftovers(_ reports: [DatasetReport]) {
        var known: Set<String> = [Self.report, Self.report + ".origin", self.reportPath, self.reportPath + ".origin"]
        for list in [".martlet-shards", ".martlet-reports"] {
            for directory in [Self.shards, Self.moreShards] { known.insert("\(directory)/\(list)") }
        }
        for line in reports.flatMap(\.lines.values) where line["error_code"]?.string == nil {
            known.insert("\(Self.files)/\(line["name"]?.string ?? "")")
        }
        let hasFailures = reports.contains { $0.counts().contains { $0.key != nil } }
        let wasDisturbed = self.kills > 0 || !self.faults.met.isEmpty || self.faults.wasLimited
        for path in self.hands.files(in: "/out") where !known.contains(path) {
            let name = path.split(separator: "/").last.map(String.init) ?? ""
            if path.hasPrefix("/out/shards/") || path.hasPrefix("/out/more/"), name.hasSuffix(".tar") { continue }
            // Of a shard without a report, and of a file that a row could not continue, the user decides.
            if name.contains(".tar.unreported"), wasDisturbed { continue }
            if path.hasPrefix(Self.files), hasFailures || wasDisturbed && !self.knowsFiles { continue }
            // A file whose mark the power took is another one for the next run, which chooses a name with a number; see
            // Docs/Limitations.md.
            let mayBeUnmarked = self.powerLosses > 0 && !self.options.durable
            if mayBeUnmarked, (1...9).contains(where: { known.contains(FileName.numbered(path, $0)) }) { continue }
            // A process that was killed between the creation of a small file and its name leaves it, or a disk that removes
            // nothing.
            let isTemporary = name.hasPrefix(".martlet-") && name.utf8.count == 17
            if isTemporary, wasDisturbed { continue }
            self.result.fail("\(path) is left although the run is complete")
        }
    }
}
