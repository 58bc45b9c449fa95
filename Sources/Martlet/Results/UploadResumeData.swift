// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Synchronization
internal import TransferEngine

/// Data for resuming the upload of a file, in another task or another process.
///
/// It contains the URL of the upload at the server, with which anyone can append to the upload.
public struct UploadResumeData: Sendable, Hashable {
    /// The file's path.
    public let path: String
    /// The URL of the request that started the upload, without user information.
    public var url: String { self.record.endpoint }
    /// When the server deletes the partial upload, seconds since 1970, if it reports that.
    public var expires: Int64? { self.record.expires }

    let record: UploadRecord

    init(path: String, record: UploadRecord) {
        self.path = path
        self.record = record
    }

    /// The encoded form, for storage.
    public var bytes: [UInt8] { Array(self.path.utf8) + [0] + self.record.encoded }

    /// Decodes stored resume data.
    ///
    /// - Throws: ``TransferError`` with `badResumeData`.
    public init(_ bytes: [UInt8]) throws(TransferError) {
        guard let end = bytes.firstIndex(of: 0), let record = UploadRecord(encoded: Array(bytes[(end + 1)...])) else {
            throw TransferError(
                .badResumeData,
                "the upload's resume data is damaged, or of another version",
                remedy: "restart the upload"
            )
        }
        self.init(path: String(decoding: bytes[..<end], as: UTF8.self), record: record)
    }
}

/// Stores an upload's record for its task.
final class RecordKeeper: UploadJournal {
    private let record: Mutex<UploadRecord?>

    init(_ record: UploadRecord?) { self.record = Mutex(record) }

    var current: UploadRecord? { self.record.withLock { $0 } }

    func read() throws(StorageError) -> UploadRecord? { self.current }

    func write(_ record: UploadRecord) throws(StorageError) { self.record.withLock { $0 = record } }

    func remove() throws(StorageError) { self.record.withLock { $0 = nil } }
}
