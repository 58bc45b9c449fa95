// SPDX-License-Identifier: Apache-2.0
internal import Martlet
internal import QueueStore
internal import TransferCore
internal import TransferEngine

extension Lane {
    /// A transfer on an engine, and its last known progress.
    ///
    /// Confined to the core, as its lane is. A class: events change a few members of a large value.
    final class Live {
        var transfer: StoredTransfer
        /// Its row when it was claimed.
        let standing: Standing
        let slot: Slot
        let number: TransferID
        let policy: SessionPolicy?
        var path: String?
        /// Whether a periodic check has seen its path.
        var wasChecked = false
        var bytes: Int64
        var total: Int64?
        var rate: Int64 = 0
        var connections = 0
        var hasResponse = false
        /// The response of a session's upload; it is repeated in the event of its end.
        var response: JSON?
        /// Of an upload: the bytes that the server has acknowledged, and those sent in this run.
        var acknowledged: Int64?
        var sent: Int64?
        /// The length that a dry run found.
        var found: Int64?
        /// The file that another process is downloading, if the transfer waits for that; see ``TransferRecord/hold``.
        var awaitedFile: AwaitedFile?

        init(_ claimed: Claimed, on slot: Slot, number: TransferID, policy: SessionPolicy?) {
            let transfer = claimed.transfer
            self.transfer = transfer
            self.standing = claimed.standing
            self.slot = slot
            self.number = number
            self.policy = policy
            self.path = transfer.path
            self.bytes = transfer.bytes
            self.total = transfer.total
        }
    }

    /// A transfer that was claimed from the store.
    struct Claimed {
        var transfer: StoredTransfer
        var standing: Standing
    }

    /// A file that another process is downloading.
    struct AwaitedFile {
        var path: String
        /// Seconds since 1970.
        var since: Double
    }
}
