internal import FileStorage
package import TransferEngine

/// Journals from which programs resume uploads after a crash.
package enum UploadJournals {
    /// The age in seconds from which an unchanged record is removed: servers delete partial uploads far sooner.
    private static let lifetime: Int64 = 30 * 86_400

    /// The journal of one upload, a small file in a directory of records.
    ///
    /// - Parameters:
    ///   - directory: The directory; it is created when the first record is written.
    ///   - key: Returns the values that identify this upload, such as the file's absolute path and the URL.
    /// - Returns: The journal.
    package static func journal(in directory: String, for key: @escaping @Sendable () -> [String]) -> any UploadJournal
    {
        DiskUploadJournal(in: directory, for: key)
    }

    /// Removes the records in a directory that are too old to be of use.
    package static func sweep(_ directory: String) {
        DiskUploadJournal.removeOld(in: directory, olderThan: self.lifetime)
    }
}
