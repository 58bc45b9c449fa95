// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import FileStorage
internal import Files
internal import Platform
internal import TransferCore
internal import TransferEngine

/// Files about uploads in the state directory, next to those of `martlet put`: the journals of resumable uploads, and
/// notes of started requests that must not be repeated (RFC 9110 §9.2.2).
///
/// A daemon that dies during such a request cannot know whether the server has processed it. The note exists from
/// before the request until the transfer's end; a daemon that finds it after a restart fails the transfer, and a user
/// has to decide.
struct UploadNotes: Sendable {
    private let directory: String

    init(stateDirectory: String) { self.directory = stateDirectory + "/uploads" }

    /// Returns the journal of a transfer's resumable upload.
    func journal(of id: GID) -> any UploadJournal {
        DiskUploadJournal(in: self.directory) { [id.description] }
    }

    /// Returns the path of a transfer's note, which is never swept: it exists as long as the transfer.
    private func path(_ id: GID) -> String { "\(self.directory)/\(id).begun" }

    /// Stores durably that a transfer's request has started.
    func begun(_ id: GID) throws(StorageError) {
        if FileCalls.access(self.directory, F_OK) != 0 { FileCalls.mkdir(self.directory, 0o700) }
        try AtomicFile.replace(self.path(id), with: [])
    }

    /// Whether a transfer's request is recorded as started.
    func isBegun(_ id: GID) -> Bool { FileCalls.access(self.path(id), F_OK) == 0 }

    /// Whether a transfer's request was started and its outcome is unknown.
    ///
    /// The state of a resumable upload is not lost: it is requested from its upload resource.
    func isLost(_ id: GID) -> Bool {
        guard self.isBegun(id) else { return false }
        let record: UploadRecord? = (try? self.journal(of: id).read()) ?? nil
        return record == nil
    }

    /// Deletes the note, when the request's outcome is known.
    func clear(_ id: GID) { FileCalls.unlink(self.path(id)) }

    /// Deletes journals that are too old to be of use.
    func sweep() { DiskUploadJournal.removeOld(in: self.directory) }
}
