// SPDX-License-Identifier: Apache-2.0
package import Control

/// The end of a transfer, to be stored.
package struct StoredEnd: Sendable, Hashable {
    /// The transfer.
    package var id: GID
    /// `finished`, `failed` or `removed`.
    package var state: TransferRecord.State
    /// The path of its file, even if the file does not exist.
    package var path: String?
    /// The number of bytes that the transfer had.
    package var bytes: Int64
    /// The total length in bytes, or `nil` if it is unknown.
    package var total: Int64?
    /// The failure, if it failed.
    package var failure: TransferRecord.Failure?
    /// The last attempts of a transfer that failed, which are stored with the failure.
    package var attempts: [TransferDetails.Attempt] = []
    /// The time of the end in seconds since 1970.
    package var at: Double
    /// The transfer's row as it was when the transfer was claimed; `nil` if it is unknown.
    package var standing: Standing?

    package init(
        id: GID,
        state: TransferRecord.State,
        path: String?,
        bytes: Int64,
        total: Int64?,
        failure: TransferRecord.Failure? = nil,
        at: Double
    ) {
        self.id = id
        self.state = state
        self.path = path
        self.bytes = bytes
        self.total = total
        self.failure = failure
        self.at = at
    }
}
