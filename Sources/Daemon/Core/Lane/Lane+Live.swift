// SPDX-License-Identifier: Apache-2.0
internal import Control
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
        /// The rate when bytes last arrived.
        private var rate: Int64 = 0
        private var measured: Int64 = 0
        private(set) var connections = 0
        /// The last attempt, if it failed and the next one has not begun.
        private(set) var retry: TransferRecord.Retry?
        var hasResponse = false
        /// The response of a session's upload; it is repeated in the event of its end.
        var response: JSON?
        /// Of an upload: the bytes that the server has acknowledged, and those sent in this run.
        var acknowledged: Int64?
        var sent: Int64?
        /// The length that a dry run found.
        var found: Int64?
        /// The file that another process is downloading, if the transfer waits for that; see ``TransferRecord/hold``.
        private(set) var awaitedFile: AwaitedFile?
        /// The state that was reported last.
        var told = TransferRecord.State.waiting

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

        /// For this time after its last bytes, a transfer has a rate.
        private static let rateAge: Int64 = 2_000_000_000

        /// The rate in bytes per second; 0 if the last bytes are older than two seconds.
        ///
        /// - Parameter now: The core's time, in nanoseconds.
        func rate(at now: Int64) -> Int64 { now - self.measured < Self.rateAge ? self.rate : 0 }

        /// An attempt has begun.
        func began() { self.retry = nil }

        /// Bytes were received or sent.
        func progressed(_ progress: TransferEvent.Progress, at now: Int64) {
            if progress.connections > 0 { (self.retry, self.awaitedFile) = (nil, nil) }
            self.bytes = progress.bytes
            self.total = progress.total
            self.rate = progress.rate.isFinite ? Int64(min(progress.rate, 1e15)) : 0
            self.measured = now
            self.connections = progress.connections
            self.acknowledged = progress.acknowledged
            self.sent = progress.sent
        }

        /// An attempt failed.
        ///
        /// - Parameters:
        ///   - failure: Its failure.
        ///   - attempt: The number of failed attempts.
        ///   - next: The time of the next attempt, seconds since 1970.
        ///   - now: The current time, seconds since 1970.
        func failed(_ failure: TransferFailure, attempt: Int, next: Double, at now: Double) {
            self.retry = TransferRecord.Retry(
                code: failure.code.rawValue,
                message: failure.message,
                attempt: attempt,
                nextTry: next
            )
            let path = failure.awaitedFile?.path
            if path != self.awaitedFile?.path { self.awaitedFile = path.map { AwaitedFile(path: $0, since: now) } }
            (self.rate, self.connections) = (0, 0)
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
