// SPDX-License-Identifier: Apache-2.0
package import Control

/// An error of the queue's database.
package struct QueueStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors.
    package enum Code: Sendable, Hashable {
        /// The disk is full, or a quota or the file size limit is reached; nothing of the transaction is stored.
        case full
        /// A transfer with this identifier exists already.
        case duplicate(GID)
        /// A transfer with this identifier does not exist.
        case notFound(GID)
        /// The transfer's state does not allow the change.
        case wrongState(GID, TransferRecord.State)
        /// Several transfers have identifiers with this prefix.
        case ambiguous
        /// The file is a database of a later version.
        case tooNew
        /// The file is damaged, is not Martlet's database, or lacks durable commits.
        case damaged
        /// Another process has locked the database.
        case busy
        /// Reading or writing failed.
        case inputOutput
        case closed
    }

    /// The kind of error.
    package var code: Code
    /// What failed, where, and how to fix it.
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { self.message }
}
