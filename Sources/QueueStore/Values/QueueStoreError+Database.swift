internal import GRDB
internal import GRDBSQLite
internal import Platform

extension QueueStoreError {
    /// Translates an error of GRDB.
    ///
    /// - Source: SQLite, "Result and Error Codes".
    init(_ error: any Error, path: String, connection: OpaquePointer? = nil) {
        guard let error = error as? DatabaseError else {
            self.init(.inputOutput, "the database '\(path)' failed: \(error)")
            return
        }
        let reason = error.message ?? error.resultCode.description
        switch error.resultCode {
        case .SQLITE_FULL:
            self = .full(path, "disk full")
        case .SQLITE_IOERR:
            // SQLite reports only ENOSPC as a full disk.
            let number = connection.map { sqlite3_system_errno($0) } ?? 0
            switch number {
            case ENOSPC, EDQUOT, EFBIG: self = .full(path, String(cString: strerror(number)))
            default:
                let cause = number == 0 ? "" : ": " + String(cString: strerror(number))
                self.init(
                    .inputOutput,
                    "the database '\(path)' cannot be read or written (\(reason)\(cause)); look at the disk"
                )
            }
        case .SQLITE_NOTADB, .SQLITE_CORRUPT:
            self = .damaged(path, reason)
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(
                .busy,
                "the database '\(path)' is held by another process; end that one, or use another state directory"
            )
        case .SQLITE_MISUSE:
            self.init(.closed, "the database '\(path)' is closed")
        case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_AUTH:
            self.init(
                .inputOutput,
                "the database '\(path)' cannot be opened for writing (\(reason)); "
                    + "its directory must be there and belong to this user"
            )
        default:
            self.init(.inputOutput, "the database '\(path)' failed (\(reason))")
        }
    }

    /// The disk is full, or a quota or the file size limit is reached.
    static func full(_ path: String, _ reason: String) -> QueueStoreError {
        QueueStoreError(
            .full,
            "there is no room for the database '\(path)' (\(reason)); nothing of this change is stored: free some space"
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
