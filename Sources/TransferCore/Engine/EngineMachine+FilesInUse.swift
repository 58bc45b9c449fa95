// SPDX-License-Identifier: Apache-2.0
/// Transfers that wait until another process has finished the same file.
extension EngineMachine {
    /// The time between two looks at a file that another process is downloading, in nanoseconds.
    package static let lookInterval: Int64 = 1_000_000_000

    /// The verdict about a transfer whose file another process is downloading.
    ///
    /// It has neither a slot nor a timer: ``fileReleased(_:since:)`` follows when the driver finds the file unlocked.
    mutating func waitForFile(_ slot: Int) -> Verdict {
        self.holdRetry(slot)
        self.entries[slot].awaitsFile = true
        return .held(attempt: Int(self.entries[slot].attempts), delay: Self.lookInterval)
    }

    /// Whether a transfer still waits, since this attempt, for a file that another process is downloading.
    package func awaitsFile(_ id: TransferID, since attempt: Int) -> Bool {
        guard !self.isStopping, let slot = self.slots[id] else { return false }
        return self.entries[slot].awaitsFile && Int(self.entries[slot].attempts) == attempt
    }

    /// The other process has ended: the transfer is queued again, and decides about the file.
    package mutating func fileReleased(_ id: TransferID, since attempt: Int) {
        guard self.awaitsFile(id, since: attempt), let slot = self.slots[id] else { return }
        self.wait(slot, atFront: true)
    }
}
