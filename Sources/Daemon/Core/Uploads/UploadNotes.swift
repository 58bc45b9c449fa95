internal import Control
internal import FileStorage
internal import Glibc
internal import TransferAssembly
internal import TransferCore
internal import TransferEngine

/// What is kept of uploads in the state directory, beside what `martlet put` keeps: where those are that can go on, and
/// which requests were begun that must not be made twice (RFC 9110 §9.2.2).
///
/// A daemon that dies while such a request is under way cannot know whether the server has carried it out. The note is
/// there from before the request to the transfer's end; where it is found by the next daemon, that one fails the transfer
/// and leaves it to people.
struct UploadNotes: Sendable {
    private let directory: String

    init(stateDirectory: String) { self.directory = stateDirectory + "/uploads" }

    /// Where a transfer's resumable upload is.
    func journal(of id: GID) -> any UploadJournal {
        UploadJournals.journal(in: self.directory) { [id.description] }
    }

    /// Never swept: as long as the transfer is there, so is the note.
    private func path(_ id: GID) -> String { "\(self.directory)/\(id).begun" }

    /// Notes that a transfer's request begins.
    func begun(_ id: GID) throws(StorageError) {
        if faccessat(AT_FDCWD, self.directory, F_OK, 0) != 0 { mkdir(self.directory, 0o700) }
        try AtomicFile.replace(self.path(id), with: [])
    }

    /// Whether a transfer's request is noted as begun.
    func isBegun(_ id: GID) -> Bool { faccessat(AT_FDCWD, self.path(id), F_OK, 0) == 0 }

    /// Whether a transfer's request was begun, and nobody can find out what became of it: one that has a resource of its own
    /// is asked.
    func isLost(_ id: GID) -> Bool {
        guard self.isBegun(id) else { return false }
        let record: UploadRecord? = (try? self.journal(of: id).read()) ?? nil
        return record == nil
    }

    /// What became of it is known.
    func clear(_ id: GID) { unlink(self.path(id)) }

    /// Removes what is too old to be of use.
    func sweep() { UploadJournals.sweep(self.directory) }
}
