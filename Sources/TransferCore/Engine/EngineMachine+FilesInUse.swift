// SPDX-License-Identifier: Apache-2.0
/// Transfers that wait until another process has finished the same file.
extension EngineMachine {
    /// The time between two looks at a file that another process is downloading, in nanoseconds.
    package static let lookInterval: Int64 = 1_000_000_000

    /// The verdict about a transfer whose file another process is downloading.
    ///
    /// It has no slot and no timer of its own: ``fileReleased(_:)`` follows when the driver has found the file unlocked.
    mutating func waitForFile(_ slot: Int) -> Verdict {
        self.move(slot, to: .retrying(at: .max))
        self.entries[slot].isHeld = true
        self.entries[slot].awaitsFile = true
        self.heldRetries += 1
        return .held(attempt: Int(self.entries[slot].attempts), delay: Self.lookInterval)
    }

    /// Whether a transfer waits for a file that another process is downloading.
    package func awaitsFile(_ id: TransferID) -> Bool {
        !self.isStopping && (self.slots[id].map { self.entries[$0].awaitsFile } ?? false)
    }

    /// The other process has ended: the transfer is queued again, and decides about the file.
    package mutating func fileReleased(_ id: TransferID) {
        guard let slot = self.slots[id], self.entries[slot].awaitsFile else { return }
        self.wait(slot, atFront: true)
    }
}
