// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import QueueStore

/// A validated transfer that is added.
///
/// A class: the transfer and its plan are large, and several steps share them.
final class Addition: Sendable {
    let transfer: StoredTransfer
    /// The plan, if both are kept until the transfer is staged.
    let plan: RequestPlan?
    /// The generation of the settings from which the plan was made; see ``AddedTransfers/generation``.
    let generation: Int
    /// The requested index in the queue, or `nil` for the end.
    let position: Int?

    init(_ transfer: StoredTransfer, _ plan: RequestPlan?, generation: Int, position: Int? = nil) {
        self.transfer = transfer
        self.plan = plan
        self.generation = generation
        self.position = position
    }
}

/// Recently added transfers that no engine has had yet, with their plans: what has just been parsed and written is
/// neither read nor parsed again.
///
/// Pure value, of bounded size. A transfer is kept only when it is stored, because its identifier may be that of another
/// transfer until then, and only while its row has the same content: a change of the row removes it, in the order of the
/// store's transactions. Its state is not part of that. Its plan must be made from the settings that still apply.
struct AddedTransfers {
    /// The maximum number of transfers.
    static let limit = 2048

    private var additions: [GID: Addition] = [:]
    /// The number of changes of the settings.
    private(set) var generation = 0

    /// Whether there is room for another transfer.
    var hasRoom: Bool { self.additions.count < Self.limit }

    var ids: Set<GID> { Set(self.additions.keys) }

    /// Keeps a stored transfer if there is room and its plan was made from the current settings.
    mutating func keep(_ addition: Addition) {
        guard self.hasRoom, addition.plan != nil, addition.generation == self.generation else { return }
        self.additions[addition.transfer.id] = addition
    }

    /// Returns a transfer, or `nil` if its row may have changed.
    subscript(id: GID) -> StoredTransfer? { self.additions[id]?.transfer }

    /// Removes a transfer, whose row changes or which an engine gets, and returns it with its plan.
    @discardableResult
    mutating func take(_ id: GID) -> Addition? { self.additions.isEmpty ? nil : self.additions.removeValue(forKey: id) }

    /// Removes all transfers: their plans are of earlier settings, or they were removed from the queue.
    mutating func clear() {
        self.additions = [:]
        self.generation += 1
    }
}
