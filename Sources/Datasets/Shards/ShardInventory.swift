// SPDX-License-Identifier: Apache-2.0
/// Decides what happens with the files of a directory of shards before the first one is written.
///
/// A report is complete and durable for a shard before the next shard gets its name. So a killed program leaves at
/// most one shard without a report, and its number is higher than all reported ones. Any other one means that the report
/// is not that of this directory: then nothing is changed.
struct ShardInventory: Equatable {
    /// An entry of the directory.
    struct Entry: Equatable {
        /// The name.
        var name: String
        /// Whether it is a regular file.
        var isRegular: Bool
    }

    /// A state of the directory in which no shard may be written.
    enum Problem: Error, Equatable {
        /// Shards that the report does not name, in order.
        case unreported([String])
        /// A name of ours that is not a regular file.
        case notRegular(String)
    }

    /// The incomplete shards to delete.
    var removed: [String] = []
    /// The complete shard to rename, and its new name.
    var aside: (from: String, to: String)?
    /// The number of the next shard.
    var next: Int64 = 0

    /// Examines the entries of a directory.
    ///
    /// - Parameters:
    ///   - entries: All entries; those with other names than ours are ignored.
    ///   - reported: The shards that the report names.
    /// - Throws: ``Problem``.
    init(_ entries: [Entry], reported: Set<String>) throws(Problem) {
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
