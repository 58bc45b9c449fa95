// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Files
internal import Logging
internal import QueueStore
internal import TransferCore

/// The file of the option `save-session`.
extension DaemonCore {
    /// Writes the unfinished downloads of the shared queue to the file of the option `save-session`, if there is one.
    ///
    /// The store is read in one transaction, so that the file shows one moment. The mode is 0600, because options
    /// include passwords.
    ///
    /// - Throws: `storage` or `diskFull` if the file cannot be written.
    nonisolated func saveSession() async throws(ControlError) {
        guard let path = self.globalOptions[.saveSession], !path.isEmpty else { return }
        let saved: SavedSession
        do throws(QueueStoreError) {
            saved = try await self.store.read { (reader) throws(QueueStoreError) in
                var saved = SavedSession()
                var offset = 0
                while true {
                    let page = try reader.transfers(
                        in: SavedSession.states,
                        session: .some(nil),
                        offset: offset,
                        limit: 1000,
                        fromEnd: false
                    )
                    for transfer in page { saved.append(transfer) }
                    offset += page.count
                    if page.count < 1000 { return saved }
                }
            }
        } catch {
            throw ControlError(error)
        }
        do throws(StorageError) {
            try AtomicFile.replace(path, with: saved.bytes)
        } catch {
            throw ControlError(
                error.code == .noSpace ? .diskFull : .storage,
                "the session could not be saved: \(error.message)",
                remedy: "set 'save-session' to a writable file"
            )
        }
    }

    /// Writes the file of `save-session` if its interval has passed.
    func saveSessionIfDue(_ now: Double) {
        let seconds = self.globalOptions[.saveSessionInterval].flatMap { Double($0) } ?? 0
        guard seconds > 0, now - self.lastSessionSave >= seconds || now < self.lastSessionSave else { return }
        self.lastSessionSave = now
        Task { await self.saveSessionLogged() }
    }

    /// Writes the file of `save-session`; a failure is logged.
    nonisolated func saveSessionLogged() async {
        do throws(ControlError) {
            try await self.saveSession()
        } catch {
            self.configuration.logger.warning("\(error.message)")
        }
    }
}
