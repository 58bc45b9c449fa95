// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Synchronization
internal import TransferEngine

/// Loading: the list on disk, and the partial files of earlier runs.
extension OfflineCore {
    /// Reads the list on disk, or writes an empty one.
    ///
    /// - Throws: ``TransferError`` if the list cannot be read, or a new one cannot be written.
    func read() throws(TransferError) {
        let read = self.writer.withLock { file in
            Result { () throws(TransferError) -> [OfflineRecord]? in
                let records = try file.read()
                if records == nil { try file.write(put: [], gone: []) { [] } }
                return records
            }
        }
        guard let records = try read.get() else {
            self.state.withLock { $0.isMatched = !self.isBackground }
            return
        }
        try self.load(records)
        // A list that cannot be written now can still be read, and its files deleted to free space.
        try? self.save()
    }

    private func load(_ records: [OfflineRecord]) throws(TransferError) {
        var state = State()
        state.isMatched = !self.isBackground
        for record in records {
            var entry = OfflineEntry(record, try record.request.request())
            let isDropped = entry.isRemoved || !record.isKept
            if record.standing == .finished {
                guard !isDropped else {
                    state.changed(record.id)
                    continue
                }
                state.finished.append(record.id)
            } else if self.isBackground {
                // Files that the daemon may be writing are examined only once its tasks are known.
                let left = self.left(record.name, record.expected)
                entry.discards = isDropped || record.standing == .stopped
                entry.record.received = entry.discards ? 0 : left.bytes
                entry.record.expected = left.length ?? record.expected
                if isDropped { entry.record.standing = .removed }
                state.active.append(record.id)
            } else if isDropped || record.standing == .stopped {
                let isGone = self.discard(record.name)
                if isDropped, isGone {
                    state.changed(record.id)
                    continue
                }
                if isDropped { entry.record.standing = .removed }
                entry.discards = !isGone
                state.active.append(record.id)
            } else {
                let left = self.left(record.name, record.expected)
                entry.record.received = left.bytes
                entry.record.expected = left.length ?? record.expected
                entry.isInterrupted = record.standing == .downloading
                state.active.append(record.id)
            }
            state.entries[record.id] = entry
        }
        Self.forgetOldest(&state, beyond: self.finishedLimit)
        let loaded = state
        self.state.withLock { $0 = loaded }
    }

    /// The size in bytes of a partial file, or of the complete file whose end is not recorded yet, and the length that the
    /// server reported.
    func left(_ name: String, _ expected: Int64?) -> (bytes: Int64, length: Int64?) {
        guard let survey = try? self.session.store.survey(self.target(name)) else { return (0, nil) }
        if case .ours(let facts, let written) = survey.partial { return (written, facts.length) }
        guard let file = survey.existing, file.isRegular, file.recorded != nil || file.size == expected else {
            return (0, nil)
        }
        return (file.size, file.size)
    }

    static func forgetOldest(_ state: inout State, beyond limit: Int) {
        while state.finished.count > limit {
            let id = state.finished.removeFirst()
            state.entries[id] = nil
            state.changed(id)
        }
    }
}
