package import Control

/// One transfer as the database has it.
package struct StoredTransfer: Sendable, Hashable {
    /// Its identifier.
    package var id: GID
    /// The background session that it belongs to, or `nil` for the shared queue.
    package var session: String?
    /// Where it stands; never `active`: what runs when the daemon dies is in line when it starts again.
    package var state: TransferRecord.State
    /// Its URLs.
    package var urls: [String]
    /// What it sends, where it is an upload.
    package var upload: UploadSource?
    /// Its options.
    package var options: TransferOptions
    /// The directory for its file; absolute; it says nothing of an upload.
    package var directory: String
    /// Greater goes first.
    package var priority = 0
    /// The bytes that were there when it was last looked at.
    package var bytes: Int64 = 0
    /// The whole length, or `nil` while unknown.
    package var total: Int64?
    /// Where its file is or will be, as far as it is known.
    package var path: String?
    /// Why it failed.
    package var failure: TransferRecord.Failure?
    /// Seconds since 1970 at which it was added.
    package var added: Double
    /// Seconds since 1970 at which it ended.
    package var ended: Double?

    /// Creates one that waits.
    package init(
        id: GID,
        session: String? = nil,
        state: TransferRecord.State = .waiting,
        urls: [String],
        options: TransferOptions = TransferOptions(),
        directory: String,
        added: Double
    ) {
        self.id = id
        self.session = session
        self.state = state
        self.urls = urls
        self.options = options
        self.directory = directory
        self.added = added
    }
}
