package import Control

/// The end of a transfer, to be stored.
package struct StoredEnd: Sendable, Hashable {
    /// The transfer.
    package var id: GID
    /// `finished`, `failed` or `removed`.
    package var state: TransferRecord.State
    /// Where its file is or would have been.
    package var path: String?
    /// The bytes that are there.
    package var bytes: Int64
    /// The whole length, or `nil` where it is unknown.
    package var total: Int64?
    /// Why it failed.
    package var failure: TransferRecord.Failure?
    /// Seconds since 1970.
    package var at: Double

    /// Creates an end.
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
