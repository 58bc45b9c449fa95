package import Control

/// Why the database did not do what it was asked.
package struct QueueStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds.
    package enum Code: Sendable, Hashable {
        /// The disk is full, or a quota or the file size limit is reached: nothing of the transaction is there.
        case full
        /// A transfer of that identifier is there already.
        case duplicate(GID)
        /// There is no transfer of that identifier.
        case notFound(GID)
        /// The transfer's state does not allow it.
        case wrongState(GID, TransferRecord.State)
        /// Several transfers have an identifier that begins so.
        case ambiguous
        /// The file is a database of a later version.
        case tooNew
        /// The file is no database, or a damaged one.
        case damaged
        /// Another process holds it.
        case busy
        /// Reading or writing failed.
        case inputOutput
        /// The store was closed.
        case closed
    }

    /// The kind.
    package var code: Code
    /// What happened, where, and how to mend it.
    package var message: String

    /// Creates an error.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// What happened, where, and how to mend it.
    package var description: String { self.message }
}
