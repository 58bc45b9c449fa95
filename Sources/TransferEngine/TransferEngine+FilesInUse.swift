// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// Watching files that other processes are downloading.
extension TransferEngine {
    /// Looks at a file after a while, on the pool, because that may block; until the transfer makes another attempt.
    func scheduleLook(at file: FileTarget, for id: TransferID, since attempt: Int) {
        self.time.schedule(after: EngineMachine.lookInterval) { [weak self] in
            guard let self, self.state.withLock({ $0.machine.awaitsFile(id, since: attempt) }) else { return }
            self.pool.run { self.look(at: file, for: id, since: attempt) }
        }
    }

    private func look(at file: FileTarget, for id: TransferID, since attempt: Int) {
        var isInUse = false
        do throws(StorageError) {
            if case .busy = try self.store.survey(file).partial { isInUse = true }
        } catch {
            // The next run reports the error.
        }
        if isInUse { return self.scheduleLook(at: file, for: id, since: attempt) }
        self.handle { $0.machine.fileReleased(id, since: attempt) }
    }
}
