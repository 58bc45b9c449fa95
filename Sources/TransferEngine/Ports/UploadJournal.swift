// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// Stores the record with which another process resumes an upload.
///
/// Called on a `BlockingPool`, one call at a time.
package protocol UploadJournal: AnyObject, Sendable {
    /// Returns the record; `nil` if there is none, or it cannot be decoded.
    func read() throws(StorageError) -> UploadRecord?

    /// Replaces the record.
    ///
    /// When this returns, the record survives the death of the process.
    func write(_ record: UploadRecord) throws(StorageError)

    /// Deletes the record.
    func remove() throws(StorageError)
}
