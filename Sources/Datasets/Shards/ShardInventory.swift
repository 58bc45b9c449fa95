// SPDX-License-Identifier: Apache-2.0
/// Decides what happens with the files of a directory of shards before the first one is written.
///
/// A report is complete and durable for a shard before the next shard gets its name, and one program at a time writes into
/// the directory. So a killed program leaves at most one shard without a report, and its number is higher than those in all
/// reports of the directory. Any other shard means that a report is unknown: then nothing is changed.
struct ShardInventory: Equatable {
    /// An entry of the directory.
    struct Entry: Equatable {
        var name: String
        /// Whether it is a regular file.
        var isRegular: Bool
    }

    /// The known reports of the directory.
    struct Reports: Equatable {
        /// The shards that they name.
        var named: Set<String>
        /// Whether no other report can name shards: the directory has a list of them, or this run's report names some, and
        /// no earlier version let two reports write into a directory.
        var areAllListed: Bool
        /// The reports that are listed but were not found.
        var lost: [LostReport] = []
    }

    /// A report that is listed but was not found.
    struct LostReport: Equatable {
        var path: String
        /// Whether another file has its name.
        var isReplaced: Bool
    }

    /// A state of the directory in which no shard may be written.
    enum Problem: Error, Equatable {
        /// Shards that no report names, in order.
        case unreported([String])
        /// Shards that no report names, in order, and reports that may do.
        case lost([String], [LostReport])
        /// Shards of a directory that does not list its reports, in order.
        case unlisted([String])
        /// One of our names that belongs to a directory or a special file.
        case notRegular(String)
    }

    /// The incomplete shards to delete.
    var removed: [String] = []
    /// The complete shard to rename, and its new name.
    var aside: (from: String, to: String)?
    var next: Int64 = 0

    /// Examines the entries of a directory.
    ///
    /// - Parameters:
    ///   - entries: All entries; those with other names than ours are ignored.
    ///   - reports: What is known about its reports.
    /// - Throws: ``Problem``.
    init(_ entries: [Entry], _ reports: Reports) throws(Problem) {
        let reported = reports.named
        if let last = reported.compactMap(ShardName.number(ofFinal:)).max() { self.next = last + 1 }
        var unreported: [Int64] = []
        for entry in entries {
            if let number = ShardName.number(ofFinal: entry.name) {
                guard entry.isRegular else { throw .notRegular(entry.name) }
                if !reported.contains(entry.name) { unreported.append(number) }
            } else if ShardName.number(ofPart: entry.name) != nil {
                guard entry.isRegular else { throw .notRegular(entry.name) }
                self.removed.append(entry.name)
            }
        }
        unreported.sort()
        guard let last = unreported.first else { return }
        guard reports.lost.isEmpty else { throw .lost(unreported.map(ShardName.final), reports.lost) }
        guard reports.areAllListed else { throw .unlisted(unreported.map(ShardName.final)) }
        guard unreported.count == 1, last >= self.next else { throw .unreported(unreported.map(ShardName.final)) }
        let names = Set(entries.map(\.name))
        var attempt = 0
        while names.contains(ShardName.unreported(last, attempt: attempt)) { attempt += 1 }
        self.aside = (ShardName.final(last), ShardName.unreported(last, attempt: attempt))
    }

    static func == (left: ShardInventory, right: ShardInventory) -> Bool {
        left.removed == right.removed && left.next == right.next && left.aside?.from == right.aside?.from
            && left.aside?.to == right.aside?.to
    }
}
