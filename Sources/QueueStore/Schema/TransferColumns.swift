// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// The mapping between transfers and table columns.
enum TransferColumns {
    /// The columns that ``read(_:session:path:)`` expects, in order.
    static let names = """
        id, queue, \(Self.state), priority, bytes, total, added, \(Self.ended), directory, urls, options, path, failure,
        upload
        """

    /// The columns of a transfer that is known to wait: they need no look-up of its state.
    static let waiting = """
        id, queue, 0, priority, bytes, total, added, NULL, directory, urls, options, path, NULL, upload
        """

    /// The number of a row's state, see ``StateClasses``; 5 for a removed and forgotten transfer.
    static let state = """
        coalesce((SELECT meaning FROM classes WHERE classes.queue = transfers.queue AND code = transfers.state), state)
        """

    /// Whether the transfer of a row exists: false if all were forgotten and the row is deleted later.
    static let isPresent = """
        iif(state < 2, \(Self.state) < 5,
        position > coalesce((SELECT last FROM forgotten WHERE forgotten.queue = transfers.queue), 0))
        """

    private static let ended = """
        coalesce(ended, (SELECT at FROM classes WHERE classes.queue = transfers.queue AND code = transfers.state))
        """

    /// Creates the transfer of a row with the columns ``names``.
    static func read(
        _ row: some TransferRow,
        session: String?,
        path: String
    ) throws(QueueStoreError) -> StoredTransfer {
        guard let id = row.integer(0).flatMap({ GID(rawValue: UInt64(bitPattern: $0)) }),
            let state = row.integer(2).flatMap({ TransferRecord.State(code: $0) }),
            let directory = row.text(8), let urls = row.text(9).flatMap({ Self.urls($0) })
        else { throw .damaged(path, "a transfer cannot be read") }
        var transfer = StoredTransfer(
            id: id,
            session: session,
            state: state,
            urls: urls,
            directory: directory,
            added: row.real(6) ?? 0
        )
        transfer.priority = Int(clamping: row.integer(3) ?? 0)
        transfer.bytes = row.integer(4) ?? 0
        transfer.total = row.integer(5)
        transfer.ended = row.real(7)
        if let text = row.text(10) {
            guard let json = try? JSON(parsing: text) else { throw .damaged(path, "options of \(id) cannot be read") }
            transfer.options = TransferOptions(json: json)
        }
        transfer.path = row.text(11)
        if let text = row.text(13) {
            guard let upload = (try? JSON(parsing: text)).flatMap({ UploadSource(json: $0) }) else {
                throw .damaged(path, "what \(id) sends cannot be read")
            }
            transfer.upload = upload
        }
        if let failure = row.text(12).flatMap({ try? JSON(parsing: $0) }) {
            transfer.failure = TransferRecord.Failure(json: failure)
            transfer.attempts = (failure["attempts"]?.array ?? []).compactMap { TransferDetails.Attempt(json: $0) }
        }
        return transfer
    }

    /// Returns the failure of an end with its attempts as JSON text, or `nil` if it did not fail.
    static func failure(of end: StoredEnd) -> String? {
        guard let failure = end.failure?.json else { return nil }
        guard !end.attempts.isEmpty else { return failure.text }
        return JSON.object((failure.object ?? []) + [.init("attempts", .array(end.attempts.map(\.json)))]).text
    }

    /// Returns URLs as text: usually there is one, which is stored as it is, otherwise a JSON array.
    static func text(_ urls: [String]) -> String {
        if urls.count == 1, !urls[0].hasPrefix("["), !urls[0].hasNUL { return urls[0] }
        return JSON.array(urls.map { .string($0) }).text
    }

    /// Returns options as JSON text, or `nil` for none.
    static func text(_ options: TransferOptions) -> String? { options.isEmpty ? nil : options.json.text.stored }

    /// Parses the text of URLs; `nil` if it is malformed.
    static func urls(_ text: String) -> [String]? {
        guard text.hasPrefix("[") else { return [text] }
        return (try? JSON(parsing: text))?.array?.compactMap(\.string)
    }
}

extension GID {
    /// The identifier in the database: the same bits, so that a prefix corresponds to a range.
    var bits: Int64 { Int64(bitPattern: self.rawValue) }
}
