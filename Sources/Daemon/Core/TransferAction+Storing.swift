// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control
internal import QueueStore

/// The path and progress of a transfer in memory, which are newer than the stored ones.
struct LiveFacts: Sendable {
    var path: String?
    var bytes: Int64
    var total: Int64?
}

extension [GID: LiveFacts] {
    /// The progress of the transfers that have a path.
    ///
    /// It is stored with their pause: a daemon that is killed before they have left their engines must know the files.
    var progress: [(id: GID, bytes: Int64, total: Int64?, path: String?)] {
        self.compactMap { id, facts in
            facts.path == nil ? nil : (id: id, bytes: facts.bytes, total: facts.total, path: facts.path)
        }
    }
}

extension TransferAction {
    /// Whether the action removes transfers.
    var isRemoval: Bool { if case .remove = self { true } else { false } }

    /// Whether the action also tries transfers at once that wait for a held host.
    var triesAtOnce: Bool { self == .resume || self == .retry }

    /// Returns whether the action is allowed in a stored state.
    func applies(to state: TransferRecord.State) -> Bool {
        switch self {
        case .pause: state == .waiting
        case .resume: state == .paused
        case .retry: state == .failed || state == .removed
        case .remove, .setPriority: !state.isEnd
        case .forget: state.isEnd
        }
    }

    /// Stores the action for transfers whose states allow it.
    func write(
        _ transfers: [StoredTransfer],
        _ facts: [GID: LiveFacts],
        _ now: Double,
        _ writer: borrowing QueueWriter
    ) throws(QueueStoreError) {
        let ids = transfers.map(\.id)
        guard !ids.isEmpty else { return }
        switch self {
        case .pause:
            try writer.setState(.paused, of: ids)
            try writer.setProgress(facts.progress)
        case .resume: try writer.setState(.waiting, of: ids)
        case .retry: try writer.retry(ids)
        case .forget: try writer.forget(ids)
        case .setPriority(let priority): try writer.setPriority(priority, of: ids)
        case .remove:
            try writer.end(
                transfers.map { one in
                    StoredEnd(
                        id: one.id,
                        state: .removed,
                        path: facts[one.id]?.path ?? one.path,
                        bytes: facts[one.id]?.bytes ?? one.bytes,
                        total: facts[one.id]?.total ?? one.total,
                        at: now
                    )
                }
            )
            for one in transfers {
                guard let session = one.session else { continue }
                let event: JSON = [
                    "kind": "removed", "id": .string(one.id.description),
                    "path": .optional(facts[one.id]?.path ?? one.path),
                ]
                _ = try writer.appendEvent(session: session, transfer: one.id, json: event.text)
            }
        }
    }
}
