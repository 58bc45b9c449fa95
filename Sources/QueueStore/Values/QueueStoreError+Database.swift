// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import SQLite

extension QueueStoreError {
    /// Translates an error of SQLite.
    init(_ error: SQLiteError, path: String) {
        let reason = error.message
        switch error.kind {
        case .full:
            self = .full(path, "disk full")
        case .inputOutput:
            // SQLite reports only ENOSPC as a full disk.
            switch error.systemNumber {
            case ENOSPC, EDQUOT, EFBIG: self = .full(path, String(cString: strerror(error.systemNumber)))
            case let number:
                let cause = number == 0 ? "" : ": " + String(cString: strerror(number))
                self.init(
                    .inputOutput,
                    "the database '\(path)' cannot be read or written (\(reason)\(cause)); look at the disk"
                )
            }
        case .damaged:
            self = .damaged(path, reason)
        case .busy:
            self.init(
                .busy,
                "the database '\(path)' is held by another process; end that one, or use another state directory"
            )
        case .closed:
            self = .closed(path)
        case .inaccessible:
            self.init(
                .inputOutput,
                "the database '\(path)' cannot be opened for writing (\(reason)); "
                    + "its directory must be there and belong to this user"
            )
        case .duplicate, .other:
            self.init(.inputOutput, "the database '\(path)' failed (\(reason))")
        }
    }

    static func closed(_ path: String) -> QueueStoreError {
        QueueStoreError(.closed, "the database '\(path)' is closed")
    }

    /// The disk is full, or a quota or the file size limit is reached.
    static func full(_ path: String, _ reason: String) -> QueueStoreError {
        QueueStoreError(
            .full,
            "no space for the database '\(path)' (\(reason)); nothing of this change is stored: free some space"
        )
    }

    /// The file is damaged and left unchanged; the message says how to continue.
    static func damaged(_ path: String, _ reason: String) -> QueueStoreError {
        QueueStoreError(
            .damaged,
            "the database '\(path)' is damaged (\(reason)); nothing was deleted: stop the daemon, move the file with its "
                + "'-wal' and '-shm' aside, and start again with an empty queue; "
                + "`sqlite3 FILE .recover` may read what is left of it"
        )
    }
}
