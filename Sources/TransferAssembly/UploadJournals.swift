internal import FileStorage
public import TransferEngine

/// Where programs keep what their resumable uploads need to go on after they died.
public enum UploadJournals {
    /// How long a record that nobody touched is kept: servers forget uploads far sooner.
    private static let lifetime: Int64 = 30 * 86_400

    /// The journal of one upload, a small file in a directory of records.
    ///
    /// - Parameters:
    ///   - directory: The directory; it is made when the first record is written.
    ///   - key: Tells what tells this upload from others, such as the file's absolute path and the URL.
    /// - Returns: The journal.
    public static func journal(in directory: String, for key: @escaping @Sendable () -> [String]) -> any UploadJournal {
        DiskUploadJournal(in: directory, for: key)
    }

    /// Removes the records in a directory that are too old to be of use.
    public static func sweep(_ directory: String) {
        DiskUploadJournal.removeOld(in: directory, olderThan: self.lifetime)
    }
}
