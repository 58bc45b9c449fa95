public import TransferCore

/// Keeps what is needed to go on with one resumable upload after the process died.
///
/// Called on a `BlockingPool`, one call at a time.
public protocol UploadJournal: AnyObject, Sendable {
    /// What is kept; `nil` where nothing is, or nothing that can be read.
    func read() throws(StorageError) -> UploadRecord?

    /// Replaces what is kept.
    ///
    /// When it returns, a process that dies does not lose it any more.
    func write(_ record: UploadRecord) throws(StorageError)

    /// Forgets it.
    func remove() throws(StorageError)
}
