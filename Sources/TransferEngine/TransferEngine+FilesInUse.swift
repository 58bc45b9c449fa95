// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// Watching files that other processes are downloading.
extension TransferEngine {
    /// Looks at a file after a while, on the pool, because that may block.
    func scheduleLook(at file: FileTarget, for id: TransferID) {
        self.time.schedule(after: EngineMachine.lookInterval) { [weak self] in
            guard let self, self.state.withLock({ $0.machine.awaitsFile(id) }) else { return }
            self.pool.run { self.look(at: file, for: id) }
        }
    }

    private func look(at file: FileTarget, for id: TransferID) {
        var isInUse = false
        do throws(StorageError) {
            if case .busy = try self.store.survey(file).partial { isInUse = true }
        } catch {
            // The next run reports the error.
        }
        if isInUse { return self.scheduleLook(at: file, for: id) }
        self.handle { $0.machine.fileReleased(id) }
    }
}
