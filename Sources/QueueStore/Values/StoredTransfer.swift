// SPDX-License-Identifier: Apache-2.0
package import Control

/// A transfer in the database.
package struct StoredTransfer: Sendable, Hashable {
    /// Its identifier.
    package var id: GID
    /// The number of its row, which never changes; only pages in the order of rows have it.
    package var number: Int64?
    /// Its background session, or `nil` for the shared queue.
    package var session: String?
    /// Its state; never `active`: a transfer that runs when the daemon dies waits after the restart.
    package var state: TransferRecord.State
    package var urls: [String]
    /// The content to send, if it is an upload.
    package var upload: UploadSource?
    package var options: TransferOptions
    /// The absolute directory of its file; unused for uploads.
    package var directory: String
    /// Its priority; greater ones run first.
    package var priority = 0
    /// The number of its bytes when its progress was last stored.
    package var bytes: Int64 = 0
    /// The total length in bytes, or `nil` while it is unknown.
    package var total: Int64?
    /// The path of its file, if it is known already.
    package var path: String?
    /// The failure, if it failed.
    package var failure: TransferRecord.Failure?
    /// The last attempts, if it failed.
    package var attempts: [TransferDetails.Attempt] = []
    /// The time at which it was added, in seconds since 1970.
    package var added: Double
    /// The time at which it ended, in seconds since 1970.
    package var ended: Double?

    /// Creates a transfer, waiting by default.
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
