// SPDX-License-Identifier: Apache-2.0
import Control

/// Transfers marked for the next command, with their last known states.
struct TopMarks: Equatable {
    /// A marked or selected transfer.
    struct Target: Equatable {
        var id: GID
        var state: TransferRecord.State
        /// Whether it waits for its host or its next attempt, so that resuming or retrying means to try at once.
        var waitsToTry: Bool
        var name: String

        init(_ record: TransferRecord) {
            self.id = record.id
            self.state = record.state
            self.waitsToTry = (record.hold != nil || record.retry != nil) && !record.state.isEnd
            self.name = TransferTable.name(of: record)
        }
    }

    /// The targets in the order in which they were marked.
    private(set) var targets: [Target] = []
    private var ids: Set<GID> = []

    /// The number of marked transfers.
    var count: Int { self.targets.count }

    /// Whether a transfer is marked.
    func contains(_ id: GID) -> Bool { self.ids.contains(id) }

    /// Marks a transfer, or removes its mark.
    mutating func toggle(_ record: TransferRecord) {
        if self.ids.remove(record.id) != nil {
            self.targets.removeAll { $0.id == record.id }
        } else {
            self.add(record)
        }
    }

    mutating func add(_ record: TransferRecord) {
        if self.ids.insert(record.id).inserted { self.targets.append(Target(record)) }
    }

    /// Removes all marks.
    mutating func clear() {
        self.targets = []
        self.ids = []
    }

    /// Updates the states of marked transfers.
    mutating func update(_ records: [TransferRecord]) {
        guard !self.ids.isEmpty else { return }
        for record in records where self.ids.contains(record.id) {
            guard let index = self.targets.firstIndex(where: { $0.id == record.id }) else { continue }
            self.targets[index] = Target(record)
        }
    }
}
