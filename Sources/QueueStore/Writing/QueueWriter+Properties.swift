// SPDX-License-Identifier: Apache-2.0
package import Control

extension QueueWriter {
    /// Changes the options and the directory of an unfinished or failed transfer.
    ///
    /// - Throws: `notFound`, `wrongState`.
    package func setOptions(
        _ options: TransferOptions,
        directory: String,
        of id: GID
    ) throws(QueueStoreError) {
        for standing in try self.standings(of: [id], allowing: { !$0.isEnd || $0 == .failed }, "given options") {
            try self.connection.run(
                "UPDATE transfers SET options = ?, directory = ? WHERE number = ?",
                [TransferColumns.text(options), directory.stored, standing.number]
            )
        }
    }

    /// Replaces the URLs of an unfinished or failed transfer.
    ///
    /// - Throws: `notFound`, `wrongState`.
    package func setURLs(_ urls: [String], of id: GID) throws(QueueStoreError) {
        for standing in try self.standings(of: [id], allowing: { !$0.isEnd || $0 == .failed }, "given other URLs") {
            let host = HostKey(urls)
            try self.connection.run(
                "UPDATE transfers SET urls = ?, host = ? WHERE number = ?",
                [TransferColumns.text(urls), host.rawValue, standing.number]
            )
            guard standing.code < 2, host.rawValue != standing.host else { continue }
            var heads = Heads()
            heads.touch(standing)
            heads.touch(queue: standing.queue, code: standing.code, host: host.rawValue)
            try heads.store(self.connection)
        }
    }

    /// Sets the priority of unfinished transfers.
    ///
    /// - Throws: `notFound`, `wrongState`; then none was changed.
    package func setPriority(_ priority: Int, of ids: [GID]) throws(QueueStoreError) {
        var heads = Heads()
        for standing in try self.standings(of: ids, allowing: { !$0.isEnd }, "given a priority") {
            try self.connection.run(
                "UPDATE transfers SET priority = ? WHERE number = ?",
                [priority, standing.number]
            )
            heads.touch(standing)
        }
        try heads.store(self.connection)
    }

    /// Stores the progress of unfinished transfers; missing and ended ones are ignored.
    ///
    /// A path of `nil` keeps the stored path.
    package func setProgress(
        _ progress: [(id: GID, bytes: Int64, total: Int64?, path: String?)]
    ) throws(QueueStoreError) {
        for one in progress {
            try self.connection.run(
                """
                UPDATE transfers SET bytes = ?, total = ?, path = coalesce(?, path) WHERE id = ? AND state < 2
                """,
                [one.bytes, one.total, one.path?.stored, one.id.bits]
            )
        }
    }
}
